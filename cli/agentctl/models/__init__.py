"""Models: the conversation in our own words, and the adapters that carry it to a provider and back."""

"""How events, lists and errors look: plain text, terminals, JSON."""

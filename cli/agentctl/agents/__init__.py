"""Agent definitions: read, validated, digested, found again."""

"""YAML 1.2, read strictly: no tags, no duplicate keys, no bombs; every error has its place."""

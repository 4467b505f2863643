"""The pages of docs/reference, written from the registry, signatures and docstrings."""

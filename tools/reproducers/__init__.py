"""Reproducers: files that hold all that is needed to see a pass fail again."""

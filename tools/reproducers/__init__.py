"""Reproducers: files that hold all it takes to see a pass fail again."""

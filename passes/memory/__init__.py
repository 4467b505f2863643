"""Passes over storage: views, reuse, places in the arenas."""

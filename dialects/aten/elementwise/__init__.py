"""Operators that act on each element."""

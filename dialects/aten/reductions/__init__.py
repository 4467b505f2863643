"""Operators that reduce, scan or order elements."""

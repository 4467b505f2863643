"""Operators that read or write the places that indices name."""

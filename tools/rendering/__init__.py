"""Diagnostics and reports as text for people."""

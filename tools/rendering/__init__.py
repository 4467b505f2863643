"""Diagnostics and reports as text for the user."""

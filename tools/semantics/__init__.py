"""Comparison of a module's results with those of its later forms."""

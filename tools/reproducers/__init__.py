"""Reproducers: files with everything needed to reproduce the failure of a pass."""

"""Plug-ins: Python files, and modules of installed packages, that add to what Flambeau knows."""

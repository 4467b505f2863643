"""Plug-ins: Python files, and modules of installed packages, that extend Flambeau."""

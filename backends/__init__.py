"""Backends: what runs parts of a program elsewhere or otherwise. A folder is a backend; README.md in this folder says more."""

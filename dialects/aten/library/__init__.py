"""Helpers without rows, which the families of operators share."""

"""Operators by their schemas: one row per operator, and what follows from it."""

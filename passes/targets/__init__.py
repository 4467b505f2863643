"""Targets: the operators, fused forms and layouts of a runtime that a program may use. A file is a target."""

"""Targets: what the programs for a runtime may use. A file is a target: `TARGET`."""

"""Passes within a level of values: aten, core, edge and fused."""

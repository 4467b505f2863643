"""Choices by measurement: how operators are computed on a processor, in tables that `flambeau tune` writes and passes read."""

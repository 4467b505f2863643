"""The commands of `flambeau`."""

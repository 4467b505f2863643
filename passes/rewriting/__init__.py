"""Rewriting on top of xDSL: a driver that indexes patterns and keeps locations, graphs to match, conversion with a legality report."""

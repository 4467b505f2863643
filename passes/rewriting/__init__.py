"""Rewriting on top of xDSL: a driver that indexes patterns and keeps locations, conversion with a legality report, dominance."""

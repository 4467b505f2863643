"""Analyses that rewrite nothing: a framework for data flow, and what is built on it."""

"""Analyses: a framework for data flow, and the analyses built on it. They rewrite nothing."""

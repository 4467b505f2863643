"""Helpers for every layer that know nothing about compilers: files, terminals, tracebacks, tables of names, numpy on first use."""

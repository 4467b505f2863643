"""Modules as text: lexer, parser, printer, source positions, and the messages about text that does not parse."""

"""What converts `edge` operators to those of `tosa`, by families, beside `lower.py`."""

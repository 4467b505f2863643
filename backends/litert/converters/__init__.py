"""Converters of operators, by what they compute. Each file declares those of its operators, in floats and between integers."""

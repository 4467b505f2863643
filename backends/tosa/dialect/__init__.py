"""The `tosa` dialect: operators of TOSA 1.0 in the profiles PRO-INT and PRO-FP, one row each. Images are [batch, height, width, channels].

Operators, arguments and attributes have the names of the specification. Arguments before the `*` are operands there, also numbers.
"""

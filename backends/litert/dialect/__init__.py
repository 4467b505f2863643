"""The `litert` dialect: builtin operators of TFLite, one row each. Images are [batch, height, width, channels].

Operators and arguments have the names of MLIR's dialect `tfl` and of the format's options. Arguments before the `*` are operands
there, also numbers. The integers of a quantized tensor have no type of their own: `scales` and `zero_points` of an operator say what those
of its activations are, operands first, the result last; both are empty for floats. What only moves integers has none of them.
"""

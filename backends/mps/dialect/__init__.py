"""The `mps` dialect: the nodes of ExecuTorch's graphs for Metal Performance Shaders, one row each.

A row has the name of a node. Its arguments have the names of the node's fields: the argument `x` is the field `x_id`, and what a node says
of a list in another field follows from the list. Tensors are of float32, row-major; images are [batch, channels, height, width].
"""

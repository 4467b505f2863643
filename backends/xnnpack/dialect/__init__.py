"""The `xnnpack` dialect: the nodes of an XNNPACK subgraph as ExecuTorch's payloads hold them, one row each.

A row has the name and the fields of a node of the format `XN01`. Images are [batch, height, width, channels]; weights and shapes have the
library's form. `output_min` and `output_max` limit the result of nodes that have these arguments.
"""

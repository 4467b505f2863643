"""The `vulkan` dialect: what the device computes of whole tensors, one row each.

A row says which dispatches compute it: calls of shader modules, with constants that specialise them, numbers that are pushed, the tensors
that they read and write, and how many workgroups run. Tensors are row-major, of float32 or float16; a weight may be of int8. Images are
[batch, channels, height, width].
"""

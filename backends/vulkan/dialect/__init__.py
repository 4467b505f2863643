"""The `vulkan` dialect: what the device computes of whole tensors, one row each.

A row says which dispatches compute it: calls of shader modules, with constants that specialise them, numbers that are pushed, the tensors
that they read and write, and how many workgroups run. Tensors are of float32 and row-major. Images are [batch, channels, height, width].
"""

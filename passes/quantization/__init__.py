"""A library for `fuse-quantized`: the patterns of each kind of quantization."""

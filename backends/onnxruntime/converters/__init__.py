"""The converters of `edge` operators to those of ONNX; a file is a family of operators."""

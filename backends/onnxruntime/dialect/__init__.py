"""The `onnxruntime` dialect: the operators of ONNX, of opset 21, one row each.

A row has the name of an operator of ONNX. The arguments before `*` in its schema are the inputs, of which numbers are constants; those
after `*` are its attributes, with the names and the defaults of ONNX. Images are [batch, channels, height, width].
"""

"""The `openvino` dialect: the layers of OpenVINO's intermediate representation, one row each.

A row has the name of a type of layer. What stands before `*` in its schema are the inputs of the layer, where numbers are constants; what
stands behind are the attributes of its `data`. Images are [batch, channels, height, width].
"""

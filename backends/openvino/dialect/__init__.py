"""The `openvino` dialect: the layers of OpenVINO's intermediate representation, one row each.

A row has the name of a type of layer. The arguments before `*` in its schema are the inputs of the layer, of which numbers are constants;
the arguments after `*` are the attributes of its `data`. Images are [batch, channels, height, width].
"""

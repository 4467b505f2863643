"""The `coreml` dialect: operators of MIL, Core ML's language of models, one row each.

A row has the name of an operator of MIL, and its arguments have the names of the operator's inputs. Tensors are of float16 or float32, of
up to five dimensions; images are [batch, channels, height, width]. A number among the arguments of an operator on float16 is rounded to
float16.
"""

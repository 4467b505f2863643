"""The operators of exported programs that Flambeau computes with quantized numbers: those that `fuse-quantized` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, cast

import torch
from torch import fx
from torch._ops import OpOverload

from flambeau.frontends.torch_export.exported_graph import Overload
from flambeau.frontends.torch_export.imported_operators import class_of

Scheme: TypeAlias = Literal["int8", "int8-dynamic", "w8", "float"]

SCHEMES: Final = ("int8", "int8-dynamic", "w8")
"""Integers for weights and for what is computed, with ranges that samples give, or that each run finds; or for weights alone."""
FLOAT: Final = "float"

LAYERS: dict[str, tuple[str, ...]] = {
    "linear": ("int8", "int8-dynamic", "w8"),
    "conv2d": ("int8", "w8"),
    "conv1d": ("w8",),
    "conv3d": ("w8",),
    "embedding": ("w8",),
}
"""The operators with a weight, whose first dimension has a scale for each entry, and their schemes."""
SUM = "add.Tensor"
CLAMPS = ("relu", "relu6", "hardtanh", "clamp")
"""What a layer or a sum of integers does at its end, or integers of their own."""
_KEEPING = (*CLAMPS, "max_pool2d", "clone", "dropout")


def overload_of(node: fx.Node) -> Overload | None:
    """The operator that a node calls, if it calls one."""
    target = node.target
    return cast(Overload, target) if isinstance(target, OpOverload) else None


def operator_name(node: fx.Node) -> str | None:
    """The name of the operator of ATen that a node calls, `add.Tensor`, `linear`; None for other nodes."""
    overload = overload_of(node)
    return None if overload is None or overload.namespace != "aten" else str(overload).removeprefix("aten.").removesuffix(".default")


def keeps_numbers(node: fx.Node) -> bool:
    """Whether each element that a node computes is one of its only operand, or a bound."""
    name, overload = operator_name(node), overload_of(node)
    if overload is None or name is None or len(node.all_input_nodes) != 1:
        return False
    if name == "dropout":
        return not node.args[2]
    cls = class_of(overload)
    return name in _KEEPING or (cls is not None and cls.schema.is_view)


def weight_of(node: fx.Node) -> fx.Node:
    """The weight of one of LAYERS."""
    weight = node.args[0 if operator_name(node) == "embedding" else 1]
    assert isinstance(weight, fx.Node)
    return weight


def why_not_int8(node: fx.Node) -> str | None:
    """Why a layer or sum has no integer form; None if it has one."""
    shapes: list[Sequence[int | torch.SymInt]] = [item.meta["val"].shape for item in (node, *node.all_input_nodes)]
    if any(isinstance(size, torch.SymInt) for shape in shapes for size in shape):
        return "it has dynamic sizes"
    match operator_name(node):
        case "conv2d":
            groups = node.args[6] if len(node.args) > 6 else 1
            channels, filters = shapes[1][1], shapes[2][0]
            if len(shapes[1]) != 4 or not (groups == 1 or groups == channels == filters):
                return "of convolutions, only those of batches of images, dense or depthwise, have an integer form"
        case "add.Tensor":
            if node.kwargs.get("alpha", 1) != 1 or len(node.all_input_nodes) + (node.args[0] is node.args[1]) != 2:
                return "of sums, only those of two tensors have an integer form"
            if shapes[1] != shapes[-1]:
                return "of sums, only those of tensors of one shape have an integer form"
        case _:
            pass
    return None

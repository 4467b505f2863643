"""The operators of exported programs that Flambeau computes in quantized numbers: those that `fuse-quantized` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from flambeau.frontends.torch_export.exported_graph import Overload
from flambeau.frontends.torch_export.imported_operators import class_of

LAYERS: dict[str, tuple[str, ...]] = {
    "linear": ("int8", "int8-dynamic", "w8"),
    "conv2d": ("int8", "w8"),
    "conv1d": ("int8", "w8"),
    "conv3d": ("w8",),
    "conv_transpose1d": ("w8",),
    "conv_transpose2d": ("w8",),
    "conv_transpose3d": ("w8",),
    "embedding": ("w8",),
}
"""The operators with a weight, by their names without overloads, and their schemes."""
PAIRS = ("add.Tensor", "mul.Tensor")
"""The operators of two tensors."""
AVERAGES = ("mean.dim", "adaptive_avg_pool2d", "avg_pool2d")
JOIN = "cat"
CLAMPS = ("relu", "relu6", "hardtanh", "clamp")
"""Functions at the end of a layer or a sum of integers, or on integers of their own."""
_KEEPING = (*CLAMPS, "max_pool2d", "upsample_nearest2d.vec", "clone", "dropout")


def overload_of(node: fx.Node) -> Overload | None:
    """Returns the operator that a node calls, or None."""
    target = node.target
    return cast(Overload, target) if isinstance(target, OpOverload) else None


def operator_name(node: fx.Node) -> str | None:
    """Returns the name of the operator of ATen that a node calls, `add.Tensor`, `linear`; None for other nodes."""
    overload = overload_of(node)
    return None if overload is None or overload.namespace != "aten" else str(overload).removeprefix("aten.").removesuffix(".default")


def layer_of(node: fx.Node) -> str | None:
    """Returns the name that LAYERS has for the operator of a node, `conv2d` for `conv2d.padding`; None if it is no layer."""
    name = (operator_name(node) or "").partition(".")[0]
    return name if name in LAYERS else None


def output_axis(layer: str) -> int:
    """Returns the dimension of a layer's weight whose entries have a scale each: that of its outputs."""
    return 1 if layer.startswith("conv_transpose") else 0


def keeps_numbers(node: fx.Node) -> bool:
    """Returns whether each element of a node's result is an element of its only operand, or the bound of a clamp."""
    name, overload = operator_name(node), overload_of(node)
    if overload is None or name is None or len(node.all_input_nodes) != 1:
        return False
    if name == "dropout":
        return not node.args[2]
    cls = class_of(overload)
    return name in _KEEPING or (cls is not None and cls.schema.is_view)


def is_function(node: fx.Node) -> bool:
    """Returns whether the node is an elementwise function of one operand, which a table of 256 results can compute for 8-bit integers."""
    overload = overload_of(node)
    cls = None if overload is None else class_of(overload)
    return cls is not None and cls.elementwise and len(node.all_input_nodes) == 1


def weight_of(node: fx.Node) -> fx.Node:
    """Returns the weight operand of a node whose operator is in LAYERS."""
    weight = node.args[0 if layer_of(node) == "embedding" else 1]
    assert isinstance(weight, fx.Node)
    return weight


def why_not_int8(node: fx.Node) -> str | None:
    """Returns the reason that a layer, a sum, a product or an average has no integer form; None if it has one."""
    shapes: list[Sequence[int | torch.SymInt]] = [item.meta["val"].shape for item in (node, *node.all_input_nodes)]
    if layer_of(node) != "linear" and any(isinstance(size, torch.SymInt) for shape in shapes for size in shape[1:]):
        return "it has dynamic sizes beside that of its first dimension"
    match layer_of(node) or operator_name(node):
        case "conv1d" | "conv2d" as name:
            _, _, _, _, padding, dilation, groups = (*node.args, *(None, 1, 0, 1, 1)[len(node.args) - 2 :])
            channels, filters, *kernel = shapes[1][1], *shapes[2][:1], *shapes[2][2:]
            if len(shapes[1]) != len(shapes[2]) or not (groups == 1 or groups == channels == filters):
                return "of convolutions, only those of batches, dense or depthwise, have an integer form"
            spreads = pytree.tree_leaves(dilation)
            if padding == "same" and any((int(size) - 1) * spread % 2 for size, spread in zip(kernel, spreads * len(kernel), strict=False)):
                return "of convolutions, only those that are padded alike on both sides have an integer form"
        case "add.Tensor" | "mul.Tensor" as name:
            kinds = "sums" if name == "add.Tensor" else "products"
            if node.kwargs.get("alpha", 1) != 1:
                return f"of {kinds}, only those without alpha have an integer form"
            result, *operands = (list(shape) for shape in shapes)
            others = [shape for shape in operands if shape != result]
            if others and (name == "add.Tensor" or others != [[*result[:2], *[1] * len(result[2:])]]):
                alike = "tensors of one shape" + (", or with a number for each channel," if name == "mul.Tensor" else "")
                return f"of {kinds}, only those of {alike} have an integer form"
        case "mean.dim":
            dims = cast("Sequence[int]", node.args[1] or ())
            if len(shapes[1]) != 4 or {dim % 4 for dim in dims} != {2, 3} or "dtype" in node.kwargs:
                return "of means, only those of the pixels of images have an integer form"
        case "adaptive_avg_pool2d":
            if len(shapes[1]) != 4 or any(int(extent) % int(size) for extent, size in zip(shapes[1][2:], shapes[0][2:], strict=True)):
                return "only adaptive pools of batches of images with windows of equal size have an integer form"
        case "avg_pool2d":
            given = [*node.args[2:], *[None] * 4]
            if len(shapes[1]) != 4 or given[2] or (given[1] not in (None, 0, [0], [0, 0]) and given[3] is False):
                return "only average pools of batches of images with windows of equal size have an integer form"
        case _:
            pass
    return None

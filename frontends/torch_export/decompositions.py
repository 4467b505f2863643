"""Applies PyTorch's own decompositions to single calls of operators without a row."""

from __future__ import annotations

import importlib
import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import _decomp, fx
from torch._C import DispatchKey
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch.fx.experimental.proxy_tensor import make_fx

from flambeau.frontends.torch_export.exported_graph import FlatProgram, Overload, Step, flatten, qualified
from flambeau.frontends.torch_export.functionalization import Variable, analyze_writes, has_kernel
from flambeau.frontends.torch_export.imported_operators import class_of, functional_overload

_TABLE = cast("dict[Overload, Callable[..., Any]]", cast(Any, _decomp).decomposition_table)


def _converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return torch.ops.aten._to_copy(x, dtype=dtype)


def _polygamma(x: torch.Tensor, order: int) -> torch.Tensor:
    return torch.polygamma(order, x)


def _with_diagonal(x: torch.Tensor, value: complex, wrap: bool = False) -> torch.Tensor:
    first, *others = [torch.arange(size).view(size, *[1] * (x.dim() - 1 - dim)) for dim, size in enumerate(x.shape)]
    distance = sum(((first - other).abs() for other in others), start=torch.zeros_like(first))
    if wrap and x.dim() == 2:
        distance = distance % (x.shape[1] + 1)
    return x.masked_fill(distance == 0, value)


def _threshold_gradient(grad: torch.Tensor, x: torch.Tensor, threshold: float) -> torch.Tensor:
    promoted = torch.promote_types(grad.dtype, x.dtype)
    if promoted != grad.dtype:
        raise TypeError(f"the export says that the result is {grad.dtype}, and eager PyTorch gives {promoted}; convert both operands to it")
    return torch.where(x <= threshold, 0, grad)


def _grouped_product(x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor | None = None, *others: object) -> torch.Tensor:
    """Multiplies the rows of each group by the group's matrix: multiplies all rows by each matrix and selects the group's rows."""
    if offsets is None or x.dim() != 2 or weight.dim() != 3 or any(other is not None for other in others):
        raise TypeError(
            "only groups of rows, without a bias or another result type, can be imported: call it for a matrix and a batch of matrices"
        )
    place = torch.arange(x.shape[0], device=x.device)
    result = x.new_zeros(x.shape[0], weight.shape[2])
    for group in range(weight.shape[0]):
        inside = place < offsets[group]
        if group:
            inside = inside & (place >= offsets[group - 1])
        result = torch.where(inside.unsqueeze(1), x @ weight[group], result)
    return result


def _dequantized_blocks(
    x: torch.Tensor,
    block_size: Sequence[int],
    scale: torch.Tensor,
    zero_point: torch.Tensor | None,
    input_dtype: torch.dtype,
    quant_min: int | None = None,
    quant_max: int | None = None,
    output_dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """Dequantizes a tensor as torchao stores weights, with an operator that is not folded.

    There is a scale for each entry of a dimension, or for each run of elements in each row of a matrix.
    """
    parted = [dim for dim, (size, block) in enumerate(zip(x.shape, block_size, strict=True)) if size != block]
    is_grouped = x.dim() == 2 and block_size[0] == 1 and 1 < block_size[1] < x.shape[1]
    if not is_grouped and (len(parted) != 1 or block_size[parted[0]] != 1):
        whole = torch.ops.torchao.dequantize_affine.default
        return whole.decompose(x, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype)
    importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines the operator
    limits = torch.iinfo(input_dtype)
    low, high = (limits.min if quant_min is None else quant_min, limits.max if quant_max is None else quant_max)
    if is_grouped:
        zeros = None if zero_point is None else zero_point.to(torch.int32)
        return torch.ops.quantized_decomposed.dequantize_per_channel_group(
            x, scale.float(), zeros, low, high, input_dtype, block_size[1], output_dtype
        )
    scales, zeros = scale.reshape(-1).float(), None if zero_point is None else zero_point.reshape(-1).to(torch.int64)
    return torch.ops.quantized_decomposed.dequantize_per_channel(
        x, scales, zeros, parted[0], low, high, input_dtype, out_dtype=output_dtype
    )


def _bins(*_: object) -> torch.Tensor:
    raise TypeError(
        "the numbers in its operand decide its size; for numbers below n use x.new_zeros(n).scatter_add(0, x, torch.ones_like(x))"
    )


_FORMS: Mapping[str, Callable[..., Any]] = {
    "prims::convert_element_type": _converted,
    "aten::bincount": _bins,
    "torchao::dequantize_affine": _dequantized_blocks,
    "aten::fill_diagonal_": _with_diagonal,
    "aten::polygamma_": _polygamma,
    "aten::threshold_backward": _threshold_gradient,
    "aten::_grouped_mm": _grouped_product,
    "transformers::grouped_mm_fallback": _grouped_product,
}
"""By name: definitions of operators that PyTorch decomposes only into memory writes or Python loops, or incorrectly."""
_SIZES = logging.getLogger("torch.fx.experimental.symbolic_shapes")
_PLACE = ("nn_module_stack", "stack_trace")


def _meanings(overload: Overload) -> Iterator[Callable[..., Any]]:
    """Yields PyTorch's definitions of an operator by other operators; none if PyTorch has only a kernel."""
    if (form := _FORMS.get(overload.name())) is not None:
        yield form
        return
    found = (_TABLE.get(overload), getattr(overload, "impl_aten", None))
    yield from (meaning for meaning in found if meaning is not None)
    for key in (DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd):
        if has_kernel(overload, key):
            yield partial(cast(Any, overload)._op_dk, key)


def _plain(value: Any, known: Mapping[fx.Node, Any]) -> Any:
    """Returns an argument with the values of its nodes, and with mutable lists, because decompositions change them."""
    if isinstance(value, tuple | list):
        return [_plain(item, known) for item in cast("Sequence[Any]", value)]
    return known[value] if isinstance(value, fx.Node) else value


@dataclass(frozen=True)
class Decomposition:
    """A call, expressed in operators that have rows."""

    program: FlatProgram
    variables: dict[fx.Node, Variable]
    """The variable behind each node of the decomposition."""
    operands: tuple[fx.Node, ...]
    """The values of the enclosing program that are passed to the placeholders of the decomposition."""
    inner: dict[fx.Node, Decomposition]
    """The decompositions of calls within this decomposition whose operators have no row either."""

    def __str__(self) -> str:
        counts = Counter(step.name for step in self.program.steps if not step.is_getitem)
        return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items()) or "its operand"


def find_decomposition(step: Step, reasons: list[str], *, refused: bool = False) -> Decomposition | None:
    """Returns PyTorch's decomposition of a call, down to operators with rows, if its operator has no row or its row is `refused`.

    Only this call is traced, on the argument values in the program; the new nodes have its location in the model. The result is None if the
    operator has a row, or if PyTorch has no decomposition that applies; `reasons` receives why none applies.
    """
    overload = _without_row(step, refused)
    return None if overload is None else _decomposed(step, overload, (), reasons)


def _without_row(step: Step, refused: bool = False) -> Overload | None:
    """Returns the functional operator of a call if it has no row, or None."""
    if step.overload is None or step.is_number:
        return None
    cls = class_of(step.overload)
    if cls is not None and cls.has("infer") and not refused:
        return None
    return step.overload if cls is None else functional_overload(cls)


def _decomposed(step: Step, overload: Overload, outer: tuple[Overload, ...], reasons: list[str]) -> Decomposition | None:
    if overload in outer:
        return None
    nodes = tuple(dict.fromkeys(step.inputs()))
    for program in _traced(step, overload, nodes, reasons):
        writes = analyze_writes(program)
        if writes.hidden:
            reasons.append("it writes to memory that other tensors share")
            continue
        inner: dict[fx.Node, Decomposition] = {}
        for own in program.steps:
            own.node.meta.update({key: step.node.meta[key] for key in _PLACE if key in step.node.meta})
            if (missing := _without_row(own)) is None:
                continue
            found = _decomposed(own, missing, (*outer, overload), reasons)
            if found is None:
                if qualified(missing)[1] != qualified(overload)[1]:
                    reasons.append(f"it needs {own.name}, which has no row")
                break
            inner[own.node] = found
        else:
            return Decomposition(program, writes.variables, nodes, inner)
    return None


@contextmanager
def _any_size(mode: Any) -> Generator[None]:
    """Makes a trace in the block fail if it depends on the example's sizes, as when it takes the root of a size."""
    if mode is None or mode.shape_env is None:
        yield
        return
    _SIZES.disabled, before = True, _SIZES.disabled
    try:
        with mode.shape_env.error_on_new_guards():
            yield
    finally:
        _SIZES.disabled = before


def _traced(step: Step, overload: Overload, nodes: Sequence[fx.Node], reasons: list[str]) -> Iterator[FlatProgram]:
    """Yields the traces of an operator on the arguments of a call: each decomposition unchanged, then functionalized."""
    values = [node.meta["val"] for node in nodes]
    for meaning in _meanings(overload):

        def call(*given: Any, meaning: Callable[..., Any] = meaning) -> Any:
            known = dict(zip(nodes, given, strict=True))
            return meaning(
                *(_plain(value, known) for value in step.args), **{key: _plain(value, known) for key, value in step.kwargs.items()}
            )

        for function in (call, torch.func.functionalize(call, remove="mutations")):
            try:
                mode = detect_fake_mode(values)
                with torch.no_grad(), mode or nullcontext(), _any_size(mode), enable_python_dispatcher():
                    yield flatten(make_fx(function)(*values))
            except Exception as error:
                # Decompositions raise exceptions of any class; the operator itself is then reported.
                reasons.append(f"tracing it fails: {next(iter(str(error).splitlines()), type(error).__name__)}")
                break

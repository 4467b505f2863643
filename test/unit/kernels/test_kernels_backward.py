"""Gradients of convolutions against PyTorch's: dimensions, groups, dilation, transposed ones, and those that a mask leaves out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from kernel_harness import KernelError, Out, run
from row_harness import assert_close, call_torch, from_torch
from row_programs import module_of
from torch_programs import seed

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.aten.layers.convolution_backward import ConvolutionBackwardOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

pytestmark = pytest.mark.every_library

# channels and their results, groups, kernel, stride, padding, dilation, output padding of a transposed one
CONVOLUTIONS: dict[str, tuple[Any, ...]] = {
    "1d": (3, 4, 1, (3,), (2,), (1,), (1,), (0,)),
    "1d, groups, dilation": (4, 6, 2, (2,), (1,), (2,), (3,), (2,)),
    "2d": (3, 4, 1, (3, 2), (1, 2), (1, 0), (1, 1), (0, 1)),
    "2d, one number each": (2, 2, 1, (3, 3), (2,), (1,), (1,), (1,)),
    "2d, depthwise": (4, 4, 4, (3, 3), (2, 2), (1, 1), (1, 1), (1, 0)),
    "2d, dilation": (2, 4, 2, (2, 3), (2, 1), (0, 1), (2, 2), (1, 1)),
    "3d": (2, 4, 2, (1, 2, 3), (1, 2, 1), (0, 1, 1), (1, 1, 1), (0, 0, 0)),
}
MASKS = ((True, True, True), (False, True, False), (True, False, True))


def sample(name: str, transposed: bool, mask: tuple[bool, ...], dtype: torch.dtype) -> list[Any]:
    """The arguments of the gradient of a convolution of numbers drawn by chance."""
    channels, results, groups, kernel, stride, padding, dilation, more = CONVOLUTIONS[name]
    more = more if transposed else (0,) * len(more)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape).mul(4).round().to(dtype) if dtype == torch.int64 else torch.randn(shape, dtype=dtype)

    x = drawn(2, channels, *(7, 6, 5)[: len(kernel)])
    weight = drawn(*((channels, results // groups) if transposed else (results, channels // groups)), *kernel)
    numbers = (stride, padding, dilation, transposed, more, groups)
    shape = torch.ops.aten.convolution(x.double(), weight.double(), None, *numbers).shape
    return [from_torch(drawn(*shape)), from_torch(x), from_torch(weight), (results,), *numbers, mask]


CASES = [
    *((name, transposed, MASKS[0], torch.float32) for name, transposed in itertools.product(CONVOLUTIONS, (False, True))),
    *((name, False, mask, torch.float32) for name, mask in itertools.product(("1d", "2d"), MASKS[1:])),
    *(("2d", True, MASKS[0], dtype) for dtype in (torch.float64, torch.float16, torch.bfloat16)),
]


def test_gradients_are_those_of_torch() -> None:
    seed()
    for case in CASES:
        arguments = sample(*case)
        # PyTorch gives some gradients that the mask leaves out.
        expected = [
            found if kept else found[:0].ravel() for found, kept in zip(call_torch(ConvolutionBackwardOp, arguments), case[2], strict=True)
        ]
        arrays = arrays_of(arguments)
        op, block = operation(ConvolutionBackwardOp, arguments)
        assert_close(f"{case}", meaning(op, arrays), expected, row=ConvolutionBackwardOp)
        module = module_of(op, block)
        for target in ("flambeau", "executorch"):
            compilation = Compilation(module.clone(), FlambeauContext(), PipelineOptions(target=target))
            actual = Runtime.get().load_program(compilation.emit()).load_method("forward").execute(arrays)
            assert_close(f"{case} for {target}", actual, expected, row=ConvolutionBackwardOp)


@pytest.mark.parametrize("place, value, message", [(0, torch.ones(1, 8, 5, 5), "a size of 5"), (10, [True, False], "output_mask")])
def test_arguments_that_do_not_fit_are_refused(place: int, value: Any, message: str) -> None:
    arguments: list[Any] = [torch.ones(1, 8, 6, 6), torch.ones(1, 4, 6, 6), torch.ones(8, 4, 3, 3), [8], [1, 1], [1, 1], [1, 1]]
    arguments += [False, [0, 0], 1, [True, True, True]]
    arguments[place] = value
    with pytest.raises(KernelError, match=message):
        run("aten::convolution_backward.out", *arguments, outs=[Out(shape, torch.float32) for shape in ((1, 4, 6, 6), (8, 4, 3, 3), (8,))])

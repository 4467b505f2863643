"""What tests of quantized programs share."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast
from unittest.mock import patch

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from xdsl.dialects.builtin import ModuleOp, i8

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.ir.tensor_types import element_of, numel
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import import_program
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions

ops: Any = torch.ops.quantized_decomposed
tensor_of: Callable[[Any], Tensor] = cast(Any, torch).from_numpy
unwrap_tensor_subclass: Callable[[nn.Module], None] = import_module("torchao.utils").unwrap_tensor_subclass
_QUANTIZER = import_module("executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils")
_EXPORTED = "_get_aten_graph_module_for_pattern"
_export: Callable[..., Any] = getattr(_QUANTIZER, _EXPORTED)
_patterns: dict[tuple[Any, ...], Any] = {}


def _exported_once(pattern: Any, example_inputs: Any, is_cuda: bool) -> Any:
    """The graph of a pattern. Each run of the quantizer exports its dozen patterns, which takes more time than all else that it does."""
    key = (is_cuda, *(cell.cell_contents for cell in pattern.fn.__closure__))
    if key not in _patterns:
        _patterns[key] = _export(pattern, example_inputs, is_cuda)
    return copy.deepcopy(_patterns[key])  # the quantizer changes it


def quantized_by_pt2e(module: nn.Module, *inputs: Tensor, per_channel: bool = False, calibrations: int = 3) -> torch.export.ExportedProgram:
    """The program of a module as PyTorch's quantizer of XNNPACK annotates it, with ranges of random numbers like its inputs."""
    config = get_symmetric_quantization_config(is_per_channel=per_channel)
    with patch.object(_QUANTIZER, _EXPORTED, _exported_once):
        prepared: Any = prepare_pt2e(torch.export.export(module.eval(), inputs).module(), XNNPACKQuantizer().set_global(config))
    for _ in range(calibrations):
        prepared(*(torch.randn_like(item) for item in inputs))
    return torch.export.export(convert_pt2e(prepared), inputs)


def compiled_for(target: str, program: torch.export.ExportedProgram, passes: str) -> tuple[ModuleOp, FlambeauContext, bytes]:
    """The edge level of a program after these passes, and what is emitted of it for a target."""
    context = FlambeauContext()
    compilation = Compilation(import_program(program, context), context, PipelineOptions(target=target))
    compilation.to("edge")
    Pipeline.parse(passes).run(compilation.module, context)
    module = compilation.module.clone()
    return module, context, compilation.emit()


def large_floats(module: ModuleOp, least: int) -> list[str]:
    """The types of constants of more than `least` elements that are not of int8."""
    kinds = [op.type for op in module.walk() if isinstance(op, GlobalOp)]
    return [str(kind) for kind in kinds if numel(kind) > least and element_of(kind) != i8]

"""What tests of quantized programs share."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import torch
from torch import Tensor, nn
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

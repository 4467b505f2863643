"""What torch, the interpreter and, for both targets, the C runtime compute from a module of one function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch
from fuzz.passes import is_fault
from row_harness import from_torch, to_torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.frontends.torch_export.evaluate import AtenProgram
from flambeau.passes.manager import PassError
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import InputKind, InterpreterError, generate_inputs, interpret
from flambeau.support.lazy import Array
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of

TARGETS = ("executorch", "flambeau")
KINDS: tuple[InputKind, ...] = ("usual", "extreme")
_INDEX = re.compile(r"index|out of (range|bounds)|negative elements")
Results = list[Array] | str
"""What an engine computes, or its reason to refuse."""


def results(run: Callable[..., Sequence[Any]], *arguments: Any) -> Results:
    """What an engine computes, or the first line of its reason to refuse."""
    try:
        return [np.asarray(item) for item in run(*arguments)]
    except (InterpreterError, FlambeauError, RuntimeError, IndexError, ValueError, TypeError) as error:
        return str(error).partition("\n")[0]


def _torch(module: ModuleOp, context: FlambeauContext, inputs: Sequence[Any]) -> list[Array]:
    with torch.no_grad():
        found = AtenProgram(module, context).run([cast(torch.Tensor, to_torch(item)) for item in inputs], "forward")
    return [from_torch(item) for item in found]


def special(inputs: Sequence[Any]) -> list[Any]:
    """Inputs every other float of which is NaN, an infinity or a zero of either sign; integers stay."""
    return [_special(cast(Array, item)) if isinstance(item, np.ndarray) else item for item in inputs]


def _special(array: Array) -> Array:
    if array.dtype.kind in "iub":
        return array
    odd = np.resize(np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0]), array.size).astype(array.dtype)
    return np.where(np.arange(array.size) % 2 == 0, odd, array.ravel()).reshape(array.shape)


def differences(text: str) -> tuple[list[str], str]:
    """What is wrong with a module, and a word for it."""
    context = FlambeauContext()
    try:
        parsed = parse_module(text, context)
        verify_parsed(parsed)
    except IRError as error:
        return [], "refused: " + error.diagnostic.message
    module = parsed.module
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    programs: dict[str, Any] = {}
    refusals: list[str] = []
    for target in TARGETS:
        try:
            data = Compilation(module.clone(), context, PipelineOptions(target=target)).emit()
        except PassError as error:
            if is_fault(error):
                return [f"{target}: {error}"], "failed"
            refusals.append(f"{target}: {error.diagnostic.message}")
            continue
        programs[f"C for {target}"] = Runtime.get().load_program(data).load_method(function.sym_name.data)
    wrong: list[str] = []
    words: set[str] = set()
    inputs = [generate_inputs(function, 0, kind) for kind in KINDS]
    for given in [*inputs, special(inputs[0])]:
        found = {"numpy": results(interpret(module, context).run, function.sym_name.data, given)}
        # PyTorch reads and writes beyond tensors where some of its kernels get an index that is out of range.
        unsafe = isinstance(found["numpy"], str) and _INDEX.search(found["numpy"])
        eager = found["numpy"] if unsafe else results(_torch, module, context, given)
        found |= {name: results(method.execute, given) for name, method in programs.items()}
        for name, values in found.items():
            if isinstance(values, str) or isinstance(eager, str):
                words.add("all refuse")
                if type(values) is not type(eager):
                    wrong.append(f"{name}: {_brief(values)} where torch gives {_brief(eager)}")
                continue
            for index, (a, b) in enumerate(zip(eager, values, strict=True)):
                if (detail := difference_of(a, b, SemanticsOptions())) is not None:
                    wrong.append(f"{name}: output {index}: {detail}: {_brief([b])} where torch gives {_brief([a])}")
    return wrong, "; ".join(refusals) or "; ".join(words) or "same"


def _brief(values: Results) -> str:
    if isinstance(values, str):
        return f"refusal ({values})"
    return "; ".join(f"{v.dtype}{list(v.shape)} {v.ravel()[:8]}" for v in values)

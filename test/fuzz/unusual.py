"""The passes on valid modules of unusual structure: each refuses in words, or leaves valid IR that computes the same.

A case is a module, below a line that names the pipeline.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, print_module, verify_parsed
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.interpreter.array_kinds import array_kind
from flambeau.runtime.interpreter.inputs import DYNAMIC_EXTENT
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of
from fuzz.campaign import Campaign, Failure
from fuzz.evaluator import Array, Evaluator
from fuzz.modules import random_function, with_dynamic_shapes
from fuzz.passes import Printing, is_fault, random_pipeline, refusal
from fuzz.structure import fill_globals, restructure


def make(chosen: random.Random) -> str:
    """A pipeline and a module."""
    function = random_function(chosen)
    module = ModuleOp([with_dynamic_shapes(chosen, function) if chosen.random() < 0.3 else function])
    if chosen.random() < 0.2:
        second = random_function(chosen)
        second.sym_name = type(second.sym_name)("second")
        module.body.block.add_op(second)
    restructure(chosen, module)
    return f"// {random_pipeline(chosen)}\n{print_module(module, locations=True)}"


def _arguments(module: ModuleOp) -> dict[str, list[Array]]:
    """Inputs for each function that anybody may call: small numbers."""
    generator = np.random.default_rng(0)
    made: dict[str, list[Array]] = {}
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.body.blocks and (op.sym_visibility is None or op.sym_visibility.data != "private"):
            arrays: list[Array] = []
            for kind in op.function_type.inputs:
                shape, dtype = array_kind(kind)
                shape = [DYNAMIC_EXTENT if not is_known(extent) else extent for extent in shape]
                array = generator.standard_normal(shape) if dtype.kind not in "iub" else generator.integers(0, 2, shape)
                arrays.append(np.asarray(array).astype(dtype))
            made[op.sym_name.data] = arrays
    return made


def _results(module: ModuleOp, context: FlambeauContext, arguments: Mapping[str, Sequence[Array]]) -> dict[str, list[Array]]:
    """What every function gives on its second call, and before it what could be observed."""
    found: dict[str, list[Array]] = {}
    methods = any(isinstance(op, MethodOp) for op in module.body.block.ops)
    for name, given in arguments.items():
        if methods:
            program = interpret(module, context)
            program.run(name, given)
            found[name] = [item for item in program.run(name, given) if isinstance(item, np.ndarray)]
            continue
        evaluator = Evaluator(module, context)
        evaluator.call(name, given)
        results = evaluator.call(name, given)
        found[name] = [*results, *evaluator.seen]
    return found


class _Comparing(Instrumentation):
    """After each pass that changed something, the same results as before the first."""

    def __init__(self, module: ModuleOp, context: FlambeauContext):
        self.arguments = _arguments(module)
        self.expected = _results(module, context, self.arguments)
        self.context = context

    def after_pass(self, step: PassStep) -> None:
        try:
            found = _results(step.module, self.context, self.arguments)
        except (ValueError, KeyError, TypeError, LookupError) as error:
            raise Failure(f"{step.name}: left what cannot be run", f"{type(error).__name__}: {error}\n{step.module}") from error
        for name, expected in self.expected.items():
            differences = [difference_of(a, b, SemanticsOptions()) for a, b in zip(expected, found[name], strict=False)]
            if any(differences) or len(expected) != len(found[name]):
                raise Failure(f"{step.name}: changes what @{name} gives", f"{differences}\n{step.module}")


def check(case: str) -> str:
    """Runs the pipeline; after each pass the module is valid, prints as it is read, and computes the same."""
    head, _, text = case.partition("\n")
    context = FlambeauContext(allow_unregistered=True)
    try:
        parsed = parse_module(text, context)
        verify_parsed(parsed)
    except IRError as error:
        raise Failure(f"no valid module: {error.diagnostic.message}", text) from error
    fill_globals(parsed.module, context)
    printing = Printing()
    watchers: list[Instrumentation] = [printing]
    try:
        watchers.append(_Comparing(parsed.module, context))
    except (ValueError, LookupError, ArithmeticError):
        pass  # made-up numbers need not be valid ones
    try:
        Pipeline.parse(head.removeprefix("// ")).run(parsed.module, context, watchers)
    except PassError as error:
        if is_fault(error):
            raise printing.failure(error) from error
        return refusal(error)
    return "compiled" if len(watchers) > 1 else "not compared"


CAMPAIGN = Campaign(make, check)

"""Finds operators that a backend computes correctly and its table refuses: the table may be too narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import level_ops
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.graph import REFUSED_SAMPLES, why_not
from flambeau.tools.conformance.drawing.graph_drawing import is_steady
from flambeau.tools.conformance.drawing.operator_choices import element_names
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_operations import arrays_of, converted, meaning, operation, with_tensors
from flambeau.tools.samples.sample_table import all_samples, bound_samples
from flambeau.tools.semantics.result_comparison import SemanticsOptions, difference_of


def computed_and_refused(partitioner: Partitioner) -> dict[str, list[str]]:
    """Returns the refused operators whose sample compiles and computes correctly, by the table's reason; tries one sample per operator.

    Samples are of floats: a backend that takes integers only has none.
    """
    if not partitioner.table.rules:
        return {}
    element, samples = element_names(partitioner.table)[0], all_samples()
    found: dict[str, list[str]] = {}
    for kind in level_ops("edge"):
        generate = samples.get(kind.siblings["row"].name)
        reasons: set[str] = set()
        for sample in bound_samples(generate, kind) if generate is not None and not kind.random else ():
            case = with_tensors(sample, lambda _, array: converted(array, element) if array.dtype.name in FLOATS else array)
            try:
                op, block = operation(kind, case)
                reason = why_not(partitioner.table, op)
                if reason is None or reason in reasons:
                    continue
                op.verify_()
                expected = meaning(op, arrays_of(case))
            except REFUSED_SAMPLES:
                continue
            if not all(is_steady(array, ()) for array in expected):
                continue
            reasons.add(reason)
            if _computes(partitioner, op, block, arrays_of(case), expected):
                found.setdefault(reason, []).append(op.name)
            if kind.schema.name not in partitioner.table.rules:
                break  # there is one reason only
    return found


def _computes(partitioner: Partitioner, op: SchemaOp, block: Block, inputs: list[Array], expected: list[Array]) -> bool:
    """Returns whether a backend, ignoring its table, compiles an operation to a payload that computes the expected results."""
    backend, context, module = partitioner.backend, FlambeauContext(), ModuleOp([])
    block.add_ops([op, ReturnOp(op.results)])
    kind = FunctionType.from_lists(block.arg_types, op.result_types)
    partition = PartitionOp("alone", backend.identifier, kind, Region(block))
    module.body.block.add_op(partition)
    constants = ModuleConstants(context, module)
    try:
        if backend.convert is not None:
            backend.convert(partition, constants, partitioner.options)
        (encoded,) = backend.encode([partition], constants, partitioner.options)
        named = {key: memoryview(value).cast("B") for key, value in encoded.named_data.items()}
        found: list[Any] = [np.asarray(value) for value in run_payload(backend.identifier, memoryview(encoded.data), named, inputs)]
    except Exception:
        return False  # the table is right: the backend does not compute the operation
    return len(found) == len(expected) and not any(difference_of(a, b, SemanticsOptions()) for a, b in zip(expected, found, strict=True))

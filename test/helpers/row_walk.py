"""Every row on its samples and their variations: torch, the row's `numpy`, and the compiled program on the C runtime, for each target.

    PYTHONPATH=test:test/helpers python test/helpers/row_walk.py [--seed N] [--share 0.1] [row …]

walks the rows that are named, or all, and prints every disagreement.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from row_exceptions import KNOWN
from row_harness import ROWS, assert_close, call_torch, samples_of, torch_operator
from row_variations import LAYOUTS, of_values, variations
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.aten.aliases import ALIASES
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.ir.locations import handles_of, with_handle
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import PassError
from flambeau.passes.manager.pipeline import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import compile_pipeline
from flambeau.passes.targets.interface import find_target, target_names
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation

ALIAS_ROWS = frozenset(f"aten.{schema.partition('(')[0]}" for schema, _ in ALIASES)
UNINITIALIZED = frozenset(f"aten.{name}" for name in ("empty.memory_format", "empty_strided", "empty_permuted", "empty_like", "new_empty"))
"""Their content is anything."""
UNCHECKED_BY_TORCH = frozenset(
    f"aten.{name}"
    for name in (
        "_adaptive_avg_pool2d_backward",
        "avg_pool2d_backward",
        "native_layer_norm_backward",
        "_embedding_bag",
        "embedding_bag",
        "embedding_bag.padding_idx",
        "_native_batch_norm_legit.no_stats",
        "_native_batch_norm_legit_no_training",
        "_weight_norm",
        "segment_reduce",
        "gru.input",
        "lstm.input",
        "lu_unpack",
        "linalg_ldl_solve",
    )
)
"""Operators whose shapes torch leaves to its callers to check; they are walked in the shapes of their samples."""
NOT_FINITE = frozenset({"aten._linalg_eigvals", "aten.linalg_eigvals"})
"""Operators whose numbers torch leaves to its callers to check; they are walked with finite numbers."""
OF_DATA = re.compile(
    r"out of (bounds|range)|ZeroDivision|is not finite|tried to (take|access)|Class values must|number of ones in mask|"
    r"allocated size does not match|out of DATA bounds|Expected idx >= 0|allocate memory|INTERNAL ASSERT|last dimension with stride 1|"
    r"failed to converge|infs or NaNs"
)
"""What torch says where only the data tells that it refuses."""
OF_RARE_TYPES = re.compile("and its kernel does not take that|where a tensor is of")
"""What a target says of calls over element types that its kernels take in part; a test of its own shows that stock's refuse them."""
OF_HALVES = re.compile(r"not implemented for '(Half|BFloat16)'")
"""What torch says of half types that only its kernels for this processor lack."""
BATCH = 32
"""Samples in one program."""


@dataclass(frozen=True)
class Case:
    """A sample of a row, and what was varied in it."""

    row: type[SchemaOp]
    what: str
    sample: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.row.name}, {self.what}: ({', '.join(map(_text, self.sample))})"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        array = cast(Array, value)
        return f"{array.dtype.name}{list(array.shape)}"
    return f"[{', '.join(map(_text, cast('list[Any]', value)))}]" if isinstance(value, list) else str(value)


Expected = tuple[Case, SchemaOp, list[Array]]
"""A case, its operation, and the results that it should have."""


@dataclass(frozen=True)
class Disagreement:
    """Two of torch, the row and the program do not agree on a case."""

    kind: str
    """`torch refuses`, `row refuses`, `numpy differs`, `does not compile on <target>`, `fails on <target>` or `differs on <target>`."""
    case: Case
    details: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.case}: {' '.join(self.details.split())[:600]}"


@dataclass
class Walk:
    """What a walk over rows met."""

    counts: Counter[str] = field(default_factory=Counter[str])
    disagreements: list[Disagreement] = field(default_factory=list[Disagreement])

    def unknown(self) -> list[Disagreement]:
        """The disagreements that are not listed."""
        return [
            each for each in self.disagreements if not any(entry.covers(each.kind, each.case.row.name, each.case.what) for entry in KNOWN)
        ]

    def disagree(self, kind: str, case: Case, details: object) -> None:
        self.disagreements.append(Disagreement(kind, case, str(details)))


def cases_of(name: str, share: float, seed: int, of_torch: bool = True) -> list[Case]:
    """The samples of a row, and a share of their variations; `of_torch`: without those that end its process or say nothing of it."""
    row, chance, seen = ROWS[name], random.Random(f"{name} {seed}"), set[str]()
    given = samples_of(row)
    alias, unchecked = of_torch and name in ALIAS_ROWS, of_torch and name in UNCHECKED_BY_TORCH
    cases: list[Case] = []

    def add(what: str, sample: tuple[Any, ...]) -> None:
        key = repr([(a.dtype.name, a.shape, a.strides, a.tobytes()) for a in arrays_of(sample)]) + ", ".join(map(_text, sample))
        if key not in seen:
            seen.add(key)
            cases.append(Case(row, what, sample))

    for sample in given[:1] if alias else given:
        add("as given", sample)
    # Samples of the same shapes and attributes have the same variations.
    bases = {re.sub(r"\b[a-z]+\d*\[", "[", ", ".join(map(_text, sample))): sample for sample in reversed(given)}
    for sample in list(reversed(bases.values())) if not alias else ():
        found = of_values(row, sample) if unchecked else variations(row, sample, longer=not of_torch)
        for what, varied in found:
            ends = (unchecked and what.startswith("tensor")) or (of_torch and name in NOT_FINITE and what.startswith("special"))
            if chance.random() < share and not ends:
                add(what, varied)
    return cases


def runs_level(target: str, level: str) -> bool:
    """Whether programs for a target have operators of a level. A target without a kernel of `linear` is for some of ATen's in floats."""
    found = find_target(target)
    return found.has_of(level) if level in ("fused", "cadence") else found.has(LinearOp)


def walk(names: Sequence[str], share: float = 1.0, seed: int = 0, targets: Sequence[str] = target_names()) -> Walk:
    """Walks rows; their samples, and a share of the variations."""
    return walk_cases([case for name in names for case in cases_of(name, share, seed)], targets)


def walk_cases(cases: Sequence[Case], targets: Sequence[str] = target_names()) -> Walk:
    """Walks cases."""
    found = Walk()
    torch.set_num_threads(1)
    compiled: dict[str, list[Expected]] = {"aten": [], "fused": [], "edge": [], "cadence": []}
    for case in cases:
        found.counts["samples"] += 1
        if (known := _expected(case, found)) is not None and not known[0].draws():
            level = case.row.level()
            compiled[level if level in compiled else "aten"].append((case, *known))
    for level, group in compiled.items():
        for target in targets:
            if runs_level(target, level):
                for start in range(0, len(group), BATCH):
                    _run(group[start : start + BATCH], target, found)
                    found.counts[f"compiled for {target}"] += len(group[start : start + BATCH])
    return found


def _expected(case: Case, found: Walk) -> tuple[SchemaOp, list[Array]] | None:
    """What the row says of a case, after it was compared with torch; None where there is nothing to compile."""
    refused = None
    arrays = arrays_of(case.sample)
    try:
        op, _ = operation(case.row, case.sample)
    except VerifyException as error:
        op, refused = None, str(error)
    wanted, refusal = None, None
    if torch_operator(case.row) is not None and not (op is not None and op.draws()):
        try:
            wanted = call_torch(case.row, case.sample)
        except Exception as error:
            refusal = str(error)
    if refusal is not None and (op is None or OF_DATA.search(refusal) or case.what in LAYOUTS):
        found.counts["refused by both" if op is None else "refused by torch for the data or its strides"] += 1
        return None
    if op is None:
        if wanted is not None or case.what == "as given":
            found.disagree("row refuses", case, refused)
        return None
    if refusal is not None and not OF_HALVES.search(refusal):
        found.disagree("torch refuses", case, refusal)
        return None
    try:
        results = meaning(op, arrays)
        if wanted is not None and not op.draws() and case.row.name not in UNINITIALIZED:
            assert_close("numpy", results, wanted, row=case.row)
            found.counts["compared with torch"] += 1
    except Exception as error:
        found.disagree("numpy differs", case, f"{type(error).__name__}: {error}")
        return None
    return op, results


def module_of(cases: Sequence[Case]) -> ModuleOp:
    """One function that computes every case; the number of a case is the handle of its operation."""
    block = Block()
    results: list[Any] = []
    for number, case in enumerate(cases):
        op, own = operation(case.row, case.sample)
        op.location = with_handle(UnknownLoc(), number)
        for argument in own.args:
            argument.replace_all_uses_with(block.insert_arg(argument.type, len(block.args)))
        block.add_op(op)
        results += op.results
    block.add_op(ReturnOp(*results))
    kind = FunctionType.from_lists(block.arg_types, [result.type for result in results])
    return ModuleOp([FuncOp("forward", kind, Region(block))])


def _run(group: Sequence[Expected], target: str, found: Walk) -> None:
    """Compiles cases as one program, runs it, and compares; those of the rows that an error names run alone, the rest together again."""
    context = FlambeauContext()
    kind = "does not compile"
    gc.disable()
    try:
        module = module_of([case for case, _, _ in group])
        Pipeline.of(compile_pipeline(PipelineOptions(target=target))).run(module, context, verify_each=len(group) == 1)
        data = b"".join(emit_pte(module, context))
        kind = "fails"
        method = Runtime.get().load_program(data).load_method("forward")
        outputs = iter(method.execute([array for case, _, _ in group for array in arrays_of(case.sample)]))
    except Exception as error:
        if len(group) == 1 and OF_RARE_TYPES.search(str(error)):
            found.counts[f"refused for {target} by type"] += 1
            return
        if len(group) == 1:
            where = "" if isinstance(error, PassError | FlambeauError) else f"{type(error).__name__}: "
            found.disagree(f"{kind} on {target}", group[0][0], f"{where}{error}")
            return
        if blamed := {group[number][0].row for number in _named(error)}:
            parts = [[item] for item in group if item[0].row in blamed] + [[item for item in group if item[0].row not in blamed]]
        else:
            parts = [group[: len(group) // 2], group[len(group) // 2 :]]
        for part in filter(None, parts):
            _run(part, target, found)
        return
    finally:
        gc.enable()
    for case, _, wanted in group:
        results = [np.asarray(next(outputs)) for _ in wanted]
        if case.row.name not in UNINITIALIZED:
            try:
                assert_close("the program", results, wanted, row=case.row)
            except AssertionError as error:
                found.disagree(f"differs on {target}", case, error)


def _named(error: Exception) -> set[int]:
    """The handles of the operations that an error of a pass is about."""
    diagnostics = error.diagnostics if isinstance(error, PassError) else ()
    about = [item for diagnostic in diagnostics for item in (diagnostic, *diagnostic.notes)]
    return {handle for item in about for handle in handles_of(item.model_location or UnknownLoc())}


def main() -> int:
    """Returns whether anything disagreed."""
    parser = argparse.ArgumentParser(prog="row_walk", description="Every row against torch and against the C runtime.")
    parser.add_argument("rows", nargs="*", help="their names, aten.add.Tensor (all)")
    parser.add_argument("--share", type=float, default=1.0, help="of the variations (1)")
    parser.add_argument("--seed", type=int, default=0, help="which share (0)")
    arguments = parser.parse_args()
    found = walk(arguments.rows or sorted(ROWS), arguments.share, arguments.seed)
    for disagreement in found.unknown():
        print(disagreement)
    known = len(found.disagreements) - len(found.unknown())
    counts = [f"{count} {word}" for word, count in found.counts.items()]
    print(*counts, f"{known} known disagreements", f"{len(found.unknown())} others", sep=", ")
    return 1 if found.unknown() else 0


if __name__ == "__main__":
    sys.exit(main())

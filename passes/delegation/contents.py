"""The properties of a delegate that nobody reads from its bytes.

Its operators before its backend rewrote them, which are attributes that a partition leaves to its payload; and its state, the tool that
made it, what this expects of it and the modules of its operators, which are compile specs of the payload, so that a program keeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute

from flambeau.dialects.delegate.ops import MODULES, PartitionOp, PayloadOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.locations import handle_of, handles_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import Encoded, State, find_identifier
from flambeau.support.one_line import one_line

_OPERATORS = "operators"
_HANDLES = "debug_handles"
_STATE = "flambeau.state"
_MADE_BY = "flambeau.made_by"
_ESTIMATES = "flambeau.estimates"


@dataclass(frozen=True)
class Origin:
    """How far the payloads of a kind are tried, and the tool that made this one; None where that is unknown."""

    state: State | None
    made_by: str | None

    def __str__(self) -> str:
        words = [] if self.state is None else [self.state.value]
        return ", ".join(words if self.made_by is None else [*words, f"made by {self.made_by}"])


def origin_of(payload: PayloadOp) -> Origin:
    """Returns how a payload came to be: as it says itself, or else as the description of its backend says."""
    specs: Mapping[str, Attribute] = {} if payload.specs is None else payload.specs.data
    state, made_by = specs.get(_STATE), specs.get(_MADE_BY)
    said = next((item for item in State if isinstance(state, StringAttr) and item.name == state.data.upper()), None)
    if said is None and (backend := find_identifier(payload.backend.data)) is not None and backend.description is not None:
        said = backend.description.state
    return Origin(said, one_line(made_by.data) if isinstance(made_by, StringAttr) else None)


def estimates_of(payload: PayloadOp) -> Mapping[str, float]:
    """Returns what the tool that made a payload expects of a call, by names that end with the unit; without lines that say no number."""
    said = None if payload.specs is None else payload.specs.data.get(_ESTIMATES)
    found: dict[str, float] = {}
    for name, _, text in (line.partition(" ") for line in (said.data if isinstance(said, StringAttr) else "").split("\n")):
        with suppress(ValueError):
            value = float(text)
            if name.isidentifier() and isfinite(value):
                found[name] = int(value) if value.is_integer() else value
    return found


def specs_with_origin(name: str, specs: DictionaryAttr | None, encoded: Encoded, blobs: BlobStore) -> DictionaryAttr | None:
    """Returns the compile specs of a payload: the options of its backend, and what this says of it, and to the vendor's runtime."""
    said: dict[str, Attribute] = {key: blobs.add(f"{name}.{key}", value) for key, value in encoded.specs.items()}
    if encoded.state is not None:
        said[_STATE] = StringAttr(encoded.state.name.lower())
    if encoded.made_by:
        said[_MADE_BY] = StringAttr(encoded.made_by)
    if encoded.estimates:
        said[_ESTIMATES] = StringAttr("\n".join(f"{name} {value:.15g}" for name, value in encoded.estimates.items()))
    if any(encoded.modules):
        said[MODULES] = StringAttr("\n".join(f"{len(list(same))} {path}" for path, same in groupby(encoded.modules)))
    return DictionaryAttr({**({} if specs is None else specs.data), **said}) if said else specs


def modules_in(text: str) -> list[str]:
    """Returns the path of the module of each operator of a payload, from its compile spec `MODULES`; none from another text."""
    found: list[str] = []
    for count, _, path in (line.partition(" ") for line in text.split("\n")):
        if not (count.isascii() and count.isdecimal() and len(count) < 7):
            return []
        found += [path] * int(count)
    return found


def specs_of_options(delegate: PartitionOp | PayloadOp) -> DictionaryAttr | None:
    """Returns those of the compile specs of a delegate that are options of its backend; None for none."""
    backend, specs = find_identifier(delegate.backend.data), delegate.specs
    said = (_STATE, _MADE_BY, _ESTIMATES, MODULES, *(() if backend is None else backend.specs))
    found = {} if specs is None else {key: value for key, value in specs.data.items() if key not in said}
    return DictionaryAttr(found) if found else None


def record_contents(partition: PartitionOp) -> None:
    """Notes the operators of a partition, and the debug handles of each operation if the program has any, unless they are noted."""
    if _OPERATORS in partition.attributes:
        return
    operators = [op for op in partition.walk() if isinstance(op, SchemaOp)]
    counts = Counter(op.name for op in operators)
    partition.attributes[_OPERATORS] = DictionaryAttr({name: IntegerAttr(count, i64) for name, count in counts.items()})
    handles = [_handles(op) for op in operators]
    if any(handles):
        partition.attributes[_HANDLES] = ArrayAttr(DenseArrayBase.from_list(i64, items) for items in handles)


def recorded_operators(delegate: PartitionOp | PayloadOp) -> Counter[str] | None:
    """Returns the number of operations by operator, as noted; None where nothing is."""
    found = delegate.attributes.get(_OPERATORS)
    if not isinstance(found, DictionaryAttr):
        return None
    return Counter({name: count.value.data for name, count in found.data.items() if isinstance(count, IntegerAttr)})


def recorded_handles(delegate: PartitionOp | PayloadOp) -> Sequence[tuple[int, ...]]:
    """Returns the debug handles of each operation, as noted."""
    found = delegate.attributes.get(_HANDLES)
    if not isinstance(found, ArrayAttr):
        return ()
    items = cast("ArrayAttr[DenseArrayBase[IntegerType]]", found)
    return [tuple(map(int, item.get_values())) for item in items]


def _handles(op: SchemaOp) -> list[int]:
    named = (handle for result in op.results if (handle := handle_of(result)) is not None)
    return list(dict.fromkeys((*handles_of(op.location), *named)))

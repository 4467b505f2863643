"""Our dialects and passes for xDSL's own tools: `xdsl-opt x.mlir -p decompose-aten,convert-aten-to-core`.

xDSL's tools refuse a name that they already have. So xDSL's dialects `irdl` and `ml_program` stay, and its passes treat weights in globals
as opaque attributes. Flambeau's pass `cse` is called `flambeau-cse`. Everything is imported at its first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect, Operation
from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from flambeau.dialects.schema.operators import find_op, level_ops, schema_table
from flambeau.dialects.schema.row_table import dialect_names
from flambeau.passes.manager.registry import own_pass, own_pass_names

PREFIX = "flambeau-"
"""The prefix of a pass whose name xDSL uses as well."""


@dataclass
class _WholeDialect(Dialect):
    """A dialect of Flambeau with all operators from rows and PyTorch's schemas, because xDSL's context cannot look up one by name."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        """Every operation."""
        yield from super().operations
        if self.name != "aten":
            yield from level_ops(self.name)
            return
        for lines in schema_table().values():
            for line in lines:
                if (found := find_op(f"aten.{line[: line.index('(')]}")) is not None:
                    yield found


def _dialect(name: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        declared: Dialect = importlib.import_module(f"flambeau.dialects.{name}").DIALECT
        return _WholeDialect(name, list(declared.operations), list(declared.attributes))

    return load


def _pass(name: str, shown: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        kind = own_pass(name)
        return kind if shown == name else type(kind.__name__, (kind,), {"name": shown, "__doc__": kind.__doc__})

    return load


def _universe() -> Universe:
    passes = {name: PREFIX + name if name in get_all_passes() else name for name in own_pass_names()}
    return Universe(
        all_dialects={name: _dialect(name) for name in dialect_names() if name not in get_all_dialects()},
        all_passes={shown: _pass(name, shown) for name, shown in passes.items()},
    )


UNIVERSE = _universe()

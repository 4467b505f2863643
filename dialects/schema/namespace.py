"""Operators by PyTorch's names, `aten.add.Tensor(a, b)`, found when they are called: rows may speak of each other in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import OpResult

from flambeau.dialects.schema.operators import find_op, level_ops
from flambeau.dialects.schema.row import Argument, RowT, SchemaOp, row
from flambeau.support.suggestions import did_you_mean


class OperatorName:
    """The name of an operator, or the beginning of one: `aten.add`, `aten.add.Tensor`. Calling it builds the operation, detached."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, overload: str) -> OperatorName:
        found = OperatorName(f"{self._name}.{overload}")
        setattr(self, overload, found)
        return found

    def __call__(self, *args: Argument, **kwargs: Any) -> OpResult:
        """The result of a new operation that has one. Raises as its class does, and ValueError for a name that no operator has."""
        return self._build(args, kwargs).result

    def results(self, *args: Argument, **kwargs: Any) -> Sequence[OpResult]:
        """The results of a new operation."""
        return self._build(args, kwargs).results

    def _build(self, args: Sequence[Argument], kwargs: dict[str, Any]) -> SchemaOp:
        kind = find_op(self._name)
        if kind is None:
            dialect, _, name = self._name.partition(".")
            raise ValueError(f"{dialect} has no operator {name!r}{did_you_mean(name, [item.schema.name for item in level_ops(dialect)])}")
        return kind(*args, **kwargs)


class Namespace:
    """The operators of a dialect. Its attributes are their names; calling it declares the row of one."""

    def __init__(self, dialect: str, namespace: str | None = None):
        """The operators of `dialect`; the schemas that it declares are in `namespace`, which is the dialect's name unless given."""
        self._dialect = dialect
        self._namespace = namespace or dialect

    def __getattr__(self, name: str) -> OperatorName:
        found = OperatorName(f"{self._dialect}.{name}")
        setattr(self, name, found)
        return found

    def __call__(self, schema: str, *, core: bool = False, keep: bool = False) -> Callable[[type[RowT]], type[RowT]]:
        """Declares the class below as the row of the operator with this schema. Raises ValueError for a schema that does not parse."""
        return row(self._dialect, self._namespace, schema, core=core, keep=keep)


aten = Namespace("aten")
core = Namespace("core")
edge = Namespace("edge")
fused = Namespace("fused", "flambeau")
quantized_decomposed = Namespace("quantized_decomposed")

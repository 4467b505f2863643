"""Operators by PyTorch's names, `aten.add.Tensor(a, b)`, found when they are called: rows may speak of each other in any order.

A decomposition reads like mathematics: `aten.mul.Tensor(x, aten.sigmoid(x))` is the result of a new operation, and
`aten.topk.results(x, 3)` are the results of one that has several. The class of a row is imported only where a class is needed: for its
`infer` or `numpy`, to derive from it, to ask `isinstance`.

The same names declare rows. Overloads that differ in their schemas alone are one line each:

    @aten("eq.Scalar(Tensor self, Scalar other) -> Tensor", core=True)
    @aten("eq.Tensor(Tensor self, Tensor other) -> Tensor", core=True)
    class EqTensorOp(CompareOp):
        '''a == b.'''

        @staticmethod
        def numpy(a: Array, b: Array | float, /) -> Array:
            return compared(np.equal, a, b)

`EqTensorOp` is the row of the lowest line, `eq.Tensor`. The rows above it are copies of it that have no name in the file: a
decomposition calls them by PyTorch's name, and a pass gets the class by `op("aten.eq.Scalar")`.
"""

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
        """Returns the result of a new operation that has one. Raises as its class does, and ValueError for a name that no operator has."""
        return self._build(args, kwargs).result

    def results(self, *args: Argument, **kwargs: Any) -> Sequence[OpResult]:
        """Returns the results of a new operation."""
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
        """Makes the operators of `dialect`, whose schemas are in `namespace`, by default the dialect's name."""
        self._dialect = dialect
        self._namespace = namespace or dialect

    def __getattr__(self, name: str) -> OperatorName:
        found = OperatorName(f"{self._dialect}.{name}")
        setattr(self, name, found)
        return found

    def __call__(self, schema: str, *, core: bool = False, keep: bool = False, out: str = "") -> Callable[[type[RowT]], type[RowT]]:
        """Declares the class below as the row of the operator with this schema, or, above another such line, one more row like it.

        `out` is the overload of the out-variant, where that is not the operator's own name with `_out`.

        Raises ValueError for a schema that does not parse, and for an operator that has a row.
        """
        return row(self._dialect, self._namespace, schema, core=core, keep=keep, out=out)


aten = Namespace("aten")
cadence = Namespace("cadence")
core = Namespace("core")
edge = Namespace("edge")
fused = Namespace("fused", "flambeau")
quantized_decomposed = Namespace("quantized_decomposed")
torchvision = Namespace("torchvision")

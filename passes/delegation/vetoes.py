"""Vetoes: the operators that a user keeps from every backend, by module path or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from flambeau.dialects.ir.locations import module_paths
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError
from flambeau.support.suggestions import did_you_mean


def method_of(op: Operation) -> str | None:
    """Returns the name of the function that an operation is, or is in; None outside of functions."""
    around: Operation | None = op
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    return None if around is None else around.sym_name.data


class Vetoes:
    """Why the user keeps an operation from every backend; called with it, the reason, or None for one that may go.

    A text is the path of a module, whose submodules it stands for too, or the name of an operator: `softmax`, `add.Tensor`,
    `edge.add.Tensor`. Behind the name of a method, `decode:softmax`, it is for that method only.
    """

    def __init__(self, texts: Sequence[str]):
        self._texts = texts

    def check(self, operations: Iterable[Operation]) -> None:
        """Raises BackendError for a text that matches none of the operations."""
        names = {name for op in operations if isinstance(op, SchemaOp) for name in _names(op)} if self._texts else set[str]()
        for text in self._texts:
            if text not in names:
                what = "no operator of the program is in a module of this path, or has this name"
                raise BackendError(f"no-delegate {text!r} keeps nothing: {what}{did_you_mean(text, names)}")

    def __call__(self, op: Operation) -> str | None:
        """Returns the reason."""
        names = _names(op) if self._texts and isinstance(op, SchemaOp) else ()
        found = next((text for text in self._texts if text in names), None)
        return None if found is None else f"no-delegate {found!r} keeps it"


def _names(op: SchemaOp) -> set[str]:
    """Returns the texts that veto an operator: its names, the paths of its module and of the enclosing ones, also with its method."""
    found = {op.name, op.schema.name, op.schema.base, op.schema.base.lstrip("_")}
    for path in module_paths(op.location):
        parts = path.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return found | {f"{method_of(op)}:{text}" for text in found}

"""`reuse-storage`: elementwise kernels write over an operand that nobody reads again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import TensorOp, nbytes
from flambeau.dialects.out_variants import out_variant
from flambeau.dialects.registry import level_ops, load_rows
from flambeau.passes.storage.classes import MethodStorage, touched_slots
from flambeau.passes.storage.reinterpretation import is_static
from flambeau.passes.storage.rewrite import make_reuse, methods_of, order_declarations


@cache
def inplace_arguments() -> dict[str, tuple[int, ...]]:
    """By kernel: the positions of the inputs whose storage the out may take over, as the rows say."""
    kernels: dict[str, tuple[int, ...]] = {}
    dialects = [dialect for dialect in sorted(load_rows()) if dialect not in ("aten", "core", "edge")]
    for row in (row for dialect in ("edge", *dialects) for row in level_ops(dialect)):
        out = out_variant(row.schema) if row.inplace else None
        if out is None or len(out.outs) != 1:
            continue
        names = [argument.name for argument in out.arguments if argument not in out.outs]
        operands = [row.schema.operands[index].name for index in row.inplace if index < len(row.schema.operands)]
        kernels.setdefault(out.qualified_name, tuple(names.index(name) for name in operands if name in names))
    return kernels


def _may_take(out: SSAValue, source: SSAValue, op: CallOp, storage: MethodStorage) -> bool:
    """Whether `op` may write `out` over `source`, of which nothing is read afterwards."""
    held, time = storage[source], storage.time[op]
    if source.type != out.type or held.is_constant or held.is_state or held.is_output or held.last != time:
        return False
    # Another operand in the same memory would be read where it was written already, unless it is the very same tensor.
    others = [slot for slot in touched_slots(op)[0] if storage[slot] is held and slot != source]
    return not others and held.size == nbytes(source.type)


def _reuse(op: CallOp, storage: MethodStorage) -> bool:
    positions = inplace_arguments().get(op.operator.data)
    if not positions or len(op.outs) != 1:
        return False
    out, time = op.outs[0], storage.time[op]
    if not isinstance(out.owner, TensorOp) or storage[out].first != time or not is_static(out):
        return False
    for position in positions:
        if position < len(op.ins) and isinstance(op.ins[position].type, type(out.type)):
            source = op.ins[position]
            if storage[source] is not storage[out] and _may_take(out, source, op, storage):
                storage.join(storage[source], storage[out])
                storage.rename(out, make_reuse(out, source))
                return True
    return False


def reuse_storage(method: MethodOp) -> int:
    """Lets the calls of a method write over their operands; gives how many do."""
    storage = MethodStorage(method)
    if not storage.is_straight:
        return 0
    count = sum(_reuse(op, storage) for op in storage.instructions if isinstance(op, CallOp))
    order_declarations(method)
    return count


@dataclass(frozen=True)
class ReuseStoragePass(ModulePass):
    """Gives the result of an elementwise call the storage of an operand of the same type that dies there: `exec.reuse`.

    Which operands a kernel may write over is what its row's `inplace` says. Constants, state and what the method returns are never
    written over.

    Needs: `exec` methods before planning; run it after `elide-views` and `place-concat`, which it would block. Leaves: no such call
    that could still take over an operand; never more bytes live at once than before. Dynamic shapes, loops and branches stay as they are.
    """

    name = "reuse-storage"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        for method in methods_of(op):
            reuse_storage(method)

"""`disassemble-payloads`: shows what payloads compute, in the dialects of their backends."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.ir.diagnostics import warn
from flambeau.dialects.ir.symbols import symbols_of
from flambeau.passes.delegation.disassembly import disassemble
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import blob_store


@dataclass(frozen=True)
class DisassemblePayloadsPass(ModulePass):
    """Replaces each `delegate.payload` by the `delegate.partition` that its backend decodes it to, and adds the constants that this loads.

    `lower-partitions` compiles it again.

    Needs: anything with payloads, such as a program that was read from a `.pte`. Leaves a payload that is damaged, or that no backend here
    can decode, with a warning that says why.
    """

    name = "disassemble-payloads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        blobs, taken = blob_store(ctx), set(symbols_of(op))
        named_data = named_data_of(op, blobs)
        inputs: dict[str, int] = {}
        for payload in [item for item in op.body.block.ops if isinstance(item, PayloadOp)]:
            if not may_rewrite(self.name, payload):
                continue
            name = payload.sym_name.data
            try:
                found = disassemble(payload, named_data, blobs, taken)
            except BackendError as error:
                warn(payload, f"@{name} stays a payload: {error}")
                continue
            taken.update(item.sym_name.data for item in found.constants)
            op.body.block.insert_ops_before([*found.constants, found.partition], payload)
            payload.detach()
            payload.erase()
            count("payloads disassembled")
            inputs[name] = len(found.partition.body.block.args)
        for call in [item for item in op.walk() if isinstance(item, DelegateCallOp)] if inputs else ():
            _part_arguments(call, inputs.get(call.delegate.string_value()))


def _part_arguments(call: DelegateCallOp, inputs: int | None) -> None:
    """Tells the inputs of a call from its outputs: a reader of a program can only guess where they end, and the payload knows."""
    slots = [*call.ins, *call.outs]
    if inputs not in (None, len(call.ins)) and inputs <= len(slots):
        parted = DelegateCallOp(call.delegate, slots[:inputs], slots[inputs:])
        parted.attributes, parted.location = call.attributes, call.location
        Rewriter.replace_op(call, parted)

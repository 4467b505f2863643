"""`strip-debuginfo`: removes the locations of operations and arguments."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation

from flambeau.passes.manager import OperationPass


@dataclass(frozen=True)
class StripDebuginfoPass(OperationPass):
    """Gives each operation and each argument of a block an unknown location.

    Needs nothing. Leaves nothing that names the model's source: later errors and the program do not name it either.
    """

    name = "strip-debuginfo"

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites `op` and what is inside it in place."""
        for item in op.walk():
            item.location = UNKNOWN_LOC
            for region in item.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location = UNKNOWN_LOC

"""A plug-in of a backend whose compiler refuses cosines."""

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.analysis.operator_table import OperatorTable, Rule
from flambeau.passes.delegation.interface import Backend, BackendOptions, Encoded, RefusedError, State, one_by_one
from flambeau.passes.rewriting.constants import ModuleConstants


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    if refused := [op for op in partition.walk() if op.name == "edge.cos"]:
        raise RefusedError(dict.fromkeys(refused, "there is no room for its table"))
    return Encoded(b"payload", state=State.COMPILED, made_by="npucc 1.0")


REFUSING = Backend("refusing", "Refusing", OperatorTable({"cos": Rule(), "neg": Rule()}), one_by_one(encode), refuses=True)

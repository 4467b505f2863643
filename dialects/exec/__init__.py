"""The `exec` dialect: a `.pte` program as IR, an operation for each slot and instruction. `runtime/pte/FORMAT.md` describes the file."""

from xdsl.ir import Dialect

from flambeau.dialects.exec.instructions import INSTRUCTIONS
from flambeau.dialects.exec.literals import LITERALS
from flambeau.dialects.exec.method import MethodOp, NamedDataOp
from flambeau.dialects.exec.slots import TENSORS
from flambeau.dialects.exec.types import TYPES

DIALECT = Dialect("exec", [MethodOp, NamedDataOp, *TENSORS, *LITERALS, *INSTRUCTIONS], TYPES)

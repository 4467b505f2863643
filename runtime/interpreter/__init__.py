"""The numpy interpreter: runs a module at any level, by the meaning of each row."""

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.runtime.interpreter.functional import DelegateRunner, FunctionProgram, InterpreterError, Leaf, Observer
from flambeau.runtime.interpreter.functions import InterpreterFunction, register_interpreter_function
from flambeau.runtime.interpreter.inputs import generate_inputs
from flambeau.runtime.interpreter.planned import MethodProgram

__all__ = [
    "DelegateRunner",
    "FunctionProgram",
    "InterpreterError",
    "InterpreterFunction",
    "Leaf",
    "MethodProgram",
    "Observer",
    "generate_inputs",
    "interpret",
    "register_interpreter_function",
]


def interpret(module: ModuleOp, context: FlambeauContext, delegates: DelegateRunner | None = None) -> FunctionProgram | MethodProgram:
    """The program that runs a module: of functions, or of `exec` methods; its delegates by `delegates`."""
    if any(isinstance(op, MethodOp) for op in module.body.block.ops):
        return MethodProgram(module, context, delegates)
    return FunctionProgram(module, context, delegates)

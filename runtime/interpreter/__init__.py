"""The numpy interpreter, which runs a module at any level by the numpy functions of its operators' rows."""

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime.interpreter.execution import OPERATION_LIMIT, Observer
from flambeau.runtime.interpreter.function_interface import (
    HardwareOnlyError,
    InterpreterError,
    InterpreterFunction,
    Jump,
    RunRegion,
    UnsupportedError,
)
from flambeau.runtime.interpreter.function_runner import DelegateRunner, FunctionProgram, Leaf
from flambeau.runtime.interpreter.functions import register_interpreter_function
from flambeau.runtime.interpreter.inputs import InputKind, generate_inputs
from flambeau.runtime.interpreter.method_runner import MethodProgram

__all__ = [
    "DelegateRunner",
    "FunctionProgram",
    "HardwareOnlyError",
    "InputKind",
    "InterpreterError",
    "InterpreterFunction",
    "Jump",
    "Leaf",
    "MethodProgram",
    "Observer",
    "RunRegion",
    "UnsupportedError",
    "generate_inputs",
    "interpret",
    "register_interpreter_function",
]


def interpret(
    module: ModuleOp, context: FlambeauContext, delegates: DelegateRunner | None = None, limit: int = OPERATION_LIMIT
) -> FunctionProgram | MethodProgram:
    """Returns the program that runs a module of functions, or a module of `exec` methods.

    Args:
        module: the module to run.
        context: owns the weights of the module.
        delegates: runs the payloads of backends.
        limit: the most operations that one run may execute.
    """
    kind = MethodProgram if any(isinstance(op, MethodOp) for op in module.body.block.ops) else FunctionProgram
    return kind(module, context, delegates, limit)

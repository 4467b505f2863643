"""The numpy interpreter: runs a module at any level below `aten`, by the meaning of each row."""

from flambeau.runtime.interpreter.functional import FunctionProgram, InterpreterError

__all__ = ["FunctionProgram", "InterpreterError"]

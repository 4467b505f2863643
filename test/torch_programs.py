"""Helpers of the torch front end's tests: small modules in, checked IR out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from flambeau.dialects.ir.equivalence import equivalent
from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.printer import ModulePrinter
from flambeau.frontends.torch_export import import_program
from flambeau.frontends.torch_export.evaluate import AtenProgram

Program: TypeAlias = nn.Module | Callable[[Tensor, Tensor], Any] | Callable[[Tensor], Any]


class Function(nn.Module):
    """A function as a module, with the function's argument names."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.forward = function


def seed() -> None:
    """Random tensors of a test are the same in every run."""
    cast(Any, torch).manual_seed(0)


def unary(function: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """The function itself: tells the type checker what a lambda's argument is."""
    return function


def export(module: Program, *args: Any, strict: bool = False, **kwargs: Any) -> torch.export.ExportedProgram:
    """The exported program of a module in its present mode."""
    if not isinstance(module, nn.Module):
        module = Function(module)
    with torch.no_grad():
        return torch.export.export(module, args, kwargs, strict=strict)


def text_of(module: ModuleOp, *, locations: bool = False) -> str:
    stream = StringIO()
    ModulePrinter(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue()


def imported(program: torch.export.ExportedProgram | Mapping[str, torch.export.ExportedProgram]) -> tuple[ModuleOp, FlambeauContext]:
    """The module of a program: verified, and equal to what its own text parses to."""
    context = FlambeauContext()
    module = import_program(program, context)
    verify_module(module)
    for locations in (False, True):
        text = text_of(module, locations=locations)
        parsed = Parser(context, text).parse_module()
        verify_module(parsed)
        assert equivalent(module, parsed)
        assert text_of(parsed, locations=locations) == text
    return module, context


def body(module: ModuleOp) -> str:
    """The text without the line of the function, whose attributes are long."""
    return "\n".join(line.strip() for line in text_of(module).splitlines() if "func.func" not in line)


def tensors(value: Any) -> list[Tensor]:
    """The tensors of a nested value, in the order of its leaves."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor)]


def check(module: Program, *args: Any, calls: int = 1, tolerance: float = 0.0, **kwargs: Any) -> str:
    """Imports a module and compares the imported program, run by PyTorch, with the module itself; returns the program's text.

    With `calls` above 1 both keep their state from call to call.
    """
    if not isinstance(module, nn.Module):
        module = Function(module)
    # Shared tensors are views of the module's: the program must not see what running the module changes.
    original = copy.deepcopy(module)
    ir, context = imported(export(module, *args, **kwargs))
    program = AtenProgram(ir, context)
    for _ in range(calls):
        given = tensors((copy.deepcopy(args), copy.deepcopy(kwargs)))
        with torch.no_grad():
            expected = tensors(original(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
        actual = program.run(given)
        assert len(actual) == len(expected)
        for left, right in zip(actual, expected, strict=True):
            torch.testing.assert_close(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    return body(ir)

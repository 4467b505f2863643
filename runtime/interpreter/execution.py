"""Runs blocks and regions: their steps and branches, with limits that end an endless loop or recursion.

A block is compiled to a list of steps when it is first reached. A `Scope` has the values of one call of a function, including those of
nested regions. A value is dropped after its last use in the block that defines it, so that only live values take memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from flambeau.runtime.interpreter.array_kinds import Kind, array_kinds, check_arrays
from flambeau.runtime.interpreter.function_interface import InterpreterError, Jump, op_name
from flambeau.runtime.interpreter.symbol_values import Definitions, SymbolValues
from flambeau.support.lazy import Array

OPERATION_LIMIT = 10_000_000
"""Operations that one run may execute, as many as ExecuTorch allows instructions: a loop that never ends is an error, not a hang."""

DEPTH_LIMIT = 100
"""The limit on nested calls and regions in one run, so that an endless recursion is an error."""

Observer = Callable[[Operation, Sequence[Array]], Sequence[Array] | None]
"""Called after each operation with its results; may give others, of the same types, to go on with."""

Kernel: TypeAlias = "Callable[[list[Array], Scope], Sequence[Array] | Jump]"
"""Runs one operation, on the arrays of its operands."""


class EndlessError(InterpreterError):
    """Reports a run of too many operations; `op` is the loop with the most rounds since it was entered."""

    def __init__(self, limit: int, op: Operation | None = None, rounds: int = 0):
        super().__init__("", op)
        self.limit = limit
        self.rounds = rounds

    def blame(self, op: Operation | None, rounds: int) -> None:
        """Names the loop `op`, which is left after `rounds` rounds, in the error if it has the most rounds so far."""
        if rounds > self.rounds:
            self.op, self.rounds = op, rounds

    def __str__(self) -> str:
        loop = f"; {op_name(self.op)} went round {self.rounds} times" if self.op is not None else ""
        return f"it does not end within {self.limit} operations{loop}"


@dataclass(frozen=True)
class Step:
    """One operation of a block, with its kernel."""

    op: Operation
    run: Kernel
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    dead: tuple[SSAValue, ...]
    """The values whose last use is this step."""


@dataclass(frozen=True)
class CompiledBlock:
    """The steps of a block."""

    arguments: tuple[SSAValue, ...]
    kinds: Sequence[Kind]
    steps: Sequence[Step]
    end: Step | None
    """The step of the terminator; None without a terminator."""


def compile_block(block: Block, kernel: Callable[[Operation], Kernel]) -> CompiledBlock:
    """Returns the steps of a block, with kernels from `kernel`. Raises InterpreterError for operations that have no kernel."""
    operations = list(block.ops)
    last = operations[-1] if operations and operations[-1].has_trait(IsTerminator, value_if_unregistered=False) else None
    dead = _dead_after(block, operations)
    steps = [Step(op, kernel(op), tuple(op.operands), tuple(op.results), dead.get(op, ())) for op in operations]
    around = block.parent_op()
    kinds = array_kinds(around, [argument.type for argument in block.args]) if around is not None else []
    return CompiledBlock(tuple(block.args), kinds, steps[:-1] if last else steps, steps[-1] if last else None)


def _dead_after(block: Block, operations: Sequence[Operation]) -> dict[Operation, tuple[SSAValue, ...]]:
    """Returns for each operation the values of its block that it uses last. Values that other blocks use are never dropped."""
    order = {op: index for index, op in enumerate(operations)}
    found: dict[Operation, tuple[SSAValue, ...]] = {}
    for value in (*block.args, *(result for op in operations for result in op.results)):
        users = [block.find_ancestor_op_in_block(use.operation) for use in value.uses]
        if isinstance(value.owner, Operation):
            users.append(value.owner)
        here = [user for user in users if user is not None]
        if here and len(here) == len(users):
            last = max(here, key=order.__getitem__)
            found[last] = (*found.get(last, ()), value)
    return found


class Run:
    """The state of one call from outside, shared by all functions that it calls."""

    def __init__(
        self,
        compiled: Callable[[Block], CompiledBlock],
        definitions: Callable[[Region], Definitions],
        limit: int,
        observer: Observer | None,
    ):
        self.compiled = compiled
        self.definitions = definitions
        self.limit = limit
        self.observer = observer
        self.left = limit
        self.depth = 0


class Scope:
    """The values and the symbols of one call of a function."""

    def __init__(self, run: Run, body: Region):
        self.run = run
        self.symbols = SymbolValues(run.definitions(body))
        self._values: dict[SSAValue, Array] = {}

    def region(self, region: Region, arguments: Sequence[Array], owner: Operation) -> Sequence[Array]:
        """Runs a region from its first block, and returns the operands of the terminator that ends it. Raises InterpreterError.

        Args:
            region: the region to run; it can use the values of this scope.
            arguments: the arguments of the first block.
            owner: the operation that has the region.
        """
        run = self.run
        if run.depth == DEPTH_LIMIT:
            raise InterpreterError(f"calls and regions nest more than {DEPTH_LIMIT} deep here: is there a recursion without end?", owner)
        block = region.first_block
        if block is None:
            return ()
        rounds: dict[Block, int] = {}
        run.depth += 1
        try:
            while True:
                outcome = self._run_block(block, arguments)
                if not isinstance(outcome, Jump):
                    return outcome
                block, arguments = outcome
                rounds[block] = rounds.get(block, 0) + 1
        except EndlessError as error:
            if rounds:
                busiest = max(rounds, key=rounds.__getitem__)
                error.blame(busiest.last_op, rounds[busiest])
            raise
        finally:
            run.depth -= 1

    def _run_block(self, block: Block, arguments: Sequence[Array]) -> Sequence[Array] | Jump:
        run, values = self.run, self._values
        compiled = run.compiled(block)
        run.left -= len(compiled.steps) + 1
        if run.left < 0:
            raise EndlessError(run.limit)
        if len(arguments) != len(compiled.arguments):
            raise InterpreterError(f"a block of {len(compiled.arguments)} arguments is given {len(arguments)}", block.parent_op())
        if compiled.arguments:
            around = block.parent_op()
            assert around is not None
            for value, array in zip(compiled.arguments, arguments, strict=True):
                self.symbols.learn(value, array, around)
            check_arrays(around, arguments, compiled.kinds, self.symbols)
            values.update(zip(compiled.arguments, arguments, strict=True))
        observer = run.observer
        for step in compiled.steps:
            outputs = step.run([values[value] for value in step.operands], self)
            if isinstance(outputs, Jump):
                raise InterpreterError(f"{step.op.name} branches in the middle of a block", step.op)
            if observer is not None and (others := observer(step.op, outputs)) is not None:
                outputs = others
            for value, array in zip(step.results, outputs, strict=True):
                values[value] = array
            for value in step.dead:
                del values[value]
        end = compiled.end
        return () if end is None else end.run([values[value] for value in end.operands], self)

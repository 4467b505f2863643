"""The predicate that the pipeline fails."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.verify import VerificationError
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager import PassError
from flambeau.tools.predicates.predicate import Judge, Outcome, Question, Verdict, error_text


@dataclass
class Crash(Question):
    """The predicate that the pipeline raises, or leaves invalid IR."""

    pattern: str | None = None
    """A regular expression that the message must match."""
    kind: tuple[str, ...] | None = field(default=None, repr=False)
    """The result of `kind_of` for the first error; None before the first error."""
    is_about_errors = True

    @property
    def description(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]  made of the pattern
        """The property in words."""
        return "the pipeline fails" + (f" with /{self.pattern}/" if self.pattern else "")

    def about(self, module: ModuleOp, context: FlambeauContext) -> Judge:
        """Returns the judge, which looks at the error only."""
        return self._judge

    def _judge(self, outcome: Outcome) -> Verdict:
        if outcome.error is None:
            return Verdict(False, "the pipeline does not fail")
        message = error_text(outcome.error)
        if self.matches(outcome.error):
            return Verdict(True, message)
        return Verdict(False, f"the pipeline fails in another way: {message}")

    def matches(self, error: Exception) -> bool:
        """Returns whether an error has the wanted message and kind."""
        if self.pattern is not None:
            return re.search(self.pattern, str(error)) is not None
        kind = kind_of(error)
        self.kind = self.kind or kind
        return kind == self.kind


_VARYING = re.compile(r"""[-+]?\d[\w.+-]*|(?:tensor|vector|memref)<[^>]*>+|'[^']*'|"[^"]*"|%[\w$.-]+|\([^()]*\)""")
"""The parts of a message that differ between modules: numbers, types, names, places."""


def kind_of(error: Exception) -> tuple[str, ...]:
    """Returns the identity of an error, independent of the module: the pass, the class of the exception, and its origin or message.

    An error about an operation is identified by its message and the operation's name. Any other error is identified by the innermost line
    of its traceback outside of Flambeau and xDSL, or within them if there is no such line.
    """
    name = error.step.name if isinstance(error, PassError) else ""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    inner = chain[1] if len(chain) > 1 else error
    root = chain[-1]
    about = next((item for item in chain[1:] if isinstance(item, OperationError | VerificationError)), None)
    if about is not None and (root is about or isinstance(about, VerificationError)):
        return name, type(inner).__name__, about.op.name, _VARYING.sub("_", str(about))
    frames = [(frame.f_globals.get("__name__", ""), str(line)) for frame, line in traceback.walk_tb(root.__traceback__)]
    others = [frame for frame in frames if frame[0].partition(".")[0] not in ("flambeau", "xdsl")]
    # The depth of a recursion differs between runs.
    place = (others or frames)[:1] if isinstance(root, RecursionError) else (others or frames)[-1:]
    return (name, type(root).__name__, *(part for frame in place for part in frame))

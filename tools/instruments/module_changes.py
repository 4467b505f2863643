"""The difference between the texts of a module at two times, in which values have the names of the later one."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.text.operation_text import PrintingOptions, TextWithNames
from flambeau.tools.instruments.ir_printing import ELIDED_ABOVE, diff_lines


class ModuleChanges:
    """A comparison of a module with its state at the previous call."""

    def __init__(self) -> None:
        self._shown: TextWithNames | None = None

    def since_last(self, module: ModuleOp) -> list[str]:
        """Returns the lines of a diff since the last call; none at the first call, and none for a module that cannot be printed."""
        options = PrintingOptions(elide_above=ELIDED_ABOVE, elide_resources_above=0)
        try:
            before, self._shown = self._shown, TextWithNames(module, options)
        except Exception:
            # A failed pass may leave IR that its own syntax cannot print.
            return []
        return [] if before is None else diff_lines(before.named_as(self._shown), self._shown.text)

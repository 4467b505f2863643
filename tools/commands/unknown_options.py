"""Errors for options that a command of `flambeau` does not have, with a hint on the likely intention."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

from typer.core import TyperCommand

_OF_FLAMBEAU_OPT = re.compile(
    r"remarks|timing|pass-statistics|print-ir|print-changed|verify-each|debug-counter|profile-actions|log-actions-to"
)
"""The prefixes of options of `flambeau-opt` that watch passes."""


class _Command(TyperCommand):
    """A command whose errors about unknown options name the alternative."""

    knows: bool = False
    """Whether a hint is of an option that exists elsewhere, which is better than options with a like name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as typer does, and adds a hint to the error about an unknown option."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # The exceptions are click's or typer's own, depending on the release of typer.
            option, message = getattr(error, "option_name", None), getattr(error, "message", None)
            if isinstance(option, str) and isinstance(message, str) and (self.knows or not getattr(error, "possibilities", None)):
                hint = self.hint(_as_written(option, given))
                vars(error).update({"message": message + hint, "possibilities": []} if hint else {})
            raise

    @abstractmethod
    def hint(self, option: str) -> str:
        """Returns a hint on an unknown option, as the user wrote it."""


class CompileCommand(_Command):
    """`flambeau compile`, which runs pipelines of its own."""

    knows = True

    def hint(self, option: str) -> str:
        """Returns a hint that options for watching passes belong to `flambeau-opt`."""
        if _OF_FLAMBEAU_OPT.match(option.lstrip("-")) is None:
            return ""
        return f"; flambeau-opt has it: write the IR with --to aten -o stage.mlir, and run flambeau-opt stage.mlir -p PIPELINE {option}"


class PredicateCommand(_Command):
    """`flambeau bisect` and `flambeau reduce`, where a pipeline is the value of an option."""

    def hint(self, option: str) -> str:
        """Returns a hint that this command has no options for passes."""
        name = option.lstrip("-")
        return f"; a pass is named by -p {name}" if re.fullmatch(r"[a-z]\w*(-\w+)*", name) and len(name) > 1 else ""


def _as_written(option: str, given: list[str]) -> str:
    """Returns the option as written, without a value: for `-cse`, click reports only the first letter."""
    found = (item for item in given if item.startswith(option))
    return option if option.startswith("--") else next(found, option).partition("=")[0]

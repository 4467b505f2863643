"""The option `--external-constants` of `flambeau compile`: which constants lie beside the program."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from flambeau.runtime.emit import Constant, ExternalConstants
from flambeau.tools.commands.output_paths import OutputError


def external_files(options: Sequence[str]) -> ExternalConstants | None:
    """What collects the constants of each `NAME[=PATTERN]`; None without any. Raises OutputError."""
    choices: list[tuple[str, str]] = []
    for option in options:
        name, equal, pattern = option.partition("=")
        if not name or "/" in name or (equal and not pattern):
            raise OutputError(f"--external-constants is NAME or NAME=PATTERN, as in lora=*.lora_*, and NAME.ptd is written; not {option!r}")
        choices.append((name, pattern or "*"))

    def file_of(constant: Constant) -> str | None:
        return next((name for name, pattern in choices if fnmatchcase(constant.name, pattern)), None)

    return ExternalConstants(file_of) if choices else None

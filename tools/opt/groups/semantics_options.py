"""`--check-semantics`: checks whether passes change the results of a module."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from flambeau.passes.manager import Instrumentation
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup

_DEFAULT = "default"


class SemanticsGroup(OptionGroup):
    """The options for running the interpreter after each pass."""

    title = "semantics"

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        group.add_argument(
            "--check-semantics",
            nargs="?",
            const=_DEFAULT,
            metavar="TOLERANCE",
            help="run the module before the pipeline and after each pass, and stop at the first pass that changes a result by more than "
            "TOLERANCE times the result's largest number (default 1e-4 for float32; other dtypes alike; integers must be equal)",
        )
        group.add_argument("--inputs", metavar="FILE", help="an .npz file with the inputs to run on, by name; made up by default")
        group.add_argument("--seed", type=int, metavar="N", help="the seed of generated inputs")

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Reads the tolerance, and refuses contradictory options."""
        given = arguments.check_semantics
        arguments.tolerance = None
        if given is None:
            if arguments.inputs is not None or arguments.seed is not None:
                parser.error("--inputs and --seed are for --check-semantics")
            return
        try:
            arguments.tolerance = None if given == _DEFAULT else float(given)
        except ValueError:
            if arguments.input != "-":
                parser.error(f"--check-semantics={given}: the tolerance must be a number")
            # argparse takes the word after an option for its optional value, and here that is the file.
            arguments.input = given
        from flambeau.tools.semantics.result_comparison import SemanticsOptions

        try:
            SemanticsOptions(arguments.tolerance, seed=arguments.seed or 0)
        except ValueError as error:
            parser.error(f"--check-semantics: {error}")

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the check."""
        return semantics_checks(chunk.arguments)


def semantics_checks(arguments: argparse.Namespace) -> Sequence[Instrumentation]:
    """Returns the checks that the options request. Raises ValueError or OSError if there are no such inputs."""
    if arguments.check_semantics is None:
        return ()
    from flambeau.tools.semantics.check_semantics import CheckSemantics
    from flambeau.tools.semantics.stored_inputs import load_inputs

    inputs = None if arguments.inputs is None else load_inputs(Path(arguments.inputs))
    return (CheckSemantics(arguments.tolerance, inputs, arguments.seed or 0),)

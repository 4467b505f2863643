"""The options of `flambeau-opt`, and what `--help` and its kin print."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from flambeau.passes.manager.registry import PipelineError, all_passes
from flambeau.support.suggestions import did_you_mean
from flambeau.support.tables import discover
from flambeau.tools.opt.groups import GROUPS
from flambeau.tools.opt.result_files import text_file
from flambeau.tools.opt.spelling import ALIASES, HINTS, Spelling

SPLIT_MARKER = "// -----"


def help_width() -> int:
    """How wide help is printed."""
    return max(60, min(140, shutil.get_terminal_size((120, 24)).columns)) - 2


class _Parser(argparse.ArgumentParser):
    """A parser for which passes are options too, and options that may go without a value take it from after `=` only.

    What follows such an option may be the input.
    """

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]  argparse has overloads for other classes of namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        spelt = self._spelt(sys.argv[1:] if args is None else args)
        known, others = self.parse_known_args(spelt, namespace or argparse.Namespace())
        self._check_joined(spelt)
        if others:
            passes = ",".join(self._pass(item) for item in others)
            if known.passes:
                self.error(f"passes are named by --passes or by options of their own, not by both: {' '.join(others)}")
            known.passes = passes
        return known

    def error(self, message: str) -> NoReturn:
        """Ends the tool. What begins with the letter of an option without a value may be a pass of a plug-in that is not loaded yet."""
        joined = re.fullmatch(r"argument -(\w)/\S+: ignored explicit argument '(.+)'", message)
        if joined is not None:
            name = joined[1] + joined[2]
            message = f"there is no option '-{name}'; for the pass of a plug-in write --{name}"
        super().error(message)

    def _check_joined(self, spelt: Sequence[str]) -> None:
        """Refuses `-ping` where a plug-in, which is loaded by now, has a pass of that name: it was taken for `-p ing`."""
        for item in spelt[: spelt.index("--") if "--" in spelt else len(spelt)]:
            name = item.removeprefix("-").partition("=")[0]
            if not item.startswith("--") and item.startswith("-") and len(name) > 1 and name[0] in "po" and name in _pass_names():
                self.error(f"{item!r} is -{name[0]} {item[2:]} as long as the plug-in with the pass {name!r} is not loaded: write -{item}")

    def _spelt(self, args: Sequence[str]) -> list[str]:
        """The arguments as the parser knows them."""
        flags = {option for action in self._actions if action.const is True and action.nargs == 0 for option in action.option_strings}
        values = {option: action.const for action in self._actions if action.nargs == "?" for option in action.option_strings}
        spelling = Spelling(
            {option.lstrip("-") for option in self._option_string_actions}, {flag.lstrip("-") for flag in flags}, _pass_names
        )
        end = list(args).index("--") if "--" in args else len(args)
        known = spelling.resolve_all(args[:end])
        return [*(f"{item}={values[item]}" if item in values else item for item in known), *args[end:]]

    def _pass(self, item: str) -> str:
        """The element of a pipeline that `--pass` or `--pass=options` stands for, also with one dash."""
        if not item.startswith("-"):
            self.error(f"there is one input already: {item!r} is too many")
        name, equals, options = item.removeprefix("-").removeprefix("-").partition("=")
        if name not in all_passes():
            discover()
            if name not in all_passes():
                self._check_name(name, item)
        return f"{name}{{{options}}}" if equals else name

    def _check_name(self, name: str, item: str) -> None:
        from flambeau.tools.opt.help import every_name

        names = every_name()
        if name in HINTS and name not in names:
            self.error(f"there is no option {name!r}; {HINTS[name]}")
        if name not in names:
            known = (*self._option_string_actions, *(f"--{known}" for known in (*names, *ALIASES)))
            meant = f"--{name.removeprefix('mlir-')}" if name not in ALIASES else name
            self.error(f"there is no option or pass {name!r}{did_you_mean(meant, known)}")


class _Formatter(argparse.HelpFormatter):
    """Uses the width that there is."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=38, width=help_width())


class _Show(argparse.Action):
    """Prints something and ends the tool. It takes effect where it stands, so that it knows what plug-ins before it brought."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        from flambeau.tools.opt import help as pages

        if self.dest not in ("help", "version"):
            # Looking for installed plug-ins takes longer than everything else that --help does.
            discover()
        shows: dict[str, Callable[[], str]] = {
            "help": lambda: f"{parser.format_help()}\n{pages.overview(help_width())}",
            "help_pass": lambda: pages.page(str(values)),
            "list_passes": pages.listing,
            "show_dialects": pages.dialects,
            "list_targets": pages.targets,
            "version": pages.versions,
        }
        try:
            sys.stdout.write(shows[self.dest]())
        except PipelineError as error:
            parser.error(str(error))
        parser.exit()


def _pass_names() -> list[str]:
    """The names of all passes and pipelines."""
    from flambeau.tools.opt.help import every_name

    return every_name()


def _yes_or_no(text: str) -> bool:
    words = {"1": True, "true": True, "0": False, "false": False}
    if text not in words:
        raise argparse.ArgumentTypeError(f"expected 0 or 1, got {text!r}")
    return words[text]


def make_parser() -> argparse.ArgumentParser:
    """The options of the tool."""
    parser = _Parser(
        prog="flambeau-opt",
        description="Parses a module, runs a pipeline of passes over it, verifies it after each, and prints it. "
        "One dash is enough, as in -cse, and options that mlir-opt has are also understood under its names, as --mlir-print-ir-after-all.",
        usage="%(prog)s [options] [--pass …] [input]",
        allow_abbrev=False,
        formatter_class=_Formatter,
        add_help=False,
    )
    parser.add_argument("input", nargs="?", default="-", help="a .mlir file, with its weights in the .safetensors beside it; - is stdin")
    parser.add_argument("-o", "--output", default="-", type=text_file, help="where to write the result; weights go beside it; - is stdout")
    parser.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        default="",
        metavar="PIPELINE",
        help="for example canonicalize,plan-memory{alignment=64} or builtin.module(func.func(PASS),PASS); each pass is an option too: "
        "--canonicalize --plan-memory=alignment=64",
    )
    parser.add_argument("--dump-pass-pipeline", action="store_true", help="print the pipeline in canonical form to stderr before it runs")
    parser.add_argument(
        "--verify-each", nargs="?", const="1", default=True, type=_yes_or_no, metavar="0|1", help="verify the module after each pass (1)"
    )
    parser.add_argument(
        "--split-input-file",
        nargs="?",
        const=SPLIT_MARKER,
        metavar="MARKER",
        help=f"each part between {SPLIT_MARKER} lines, or others, is a module of its own; one that fails does not end the rest",
    )
    parser.add_argument(
        "--output-split-marker", metavar="MARKER", help="what stands between modules in the result; as in the input by default"
    )
    parser.add_argument(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=("all", "only-expected"),
        help="succeed when the diagnostics are those that comments such as // expected-error {{…}} expect; only-expected lets others pass",
    )
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    parser.add_argument(
        "--color",
        nargs="?",
        const="1",
        type=_yes_or_no,
        metavar="0|1",
        help="colour diagnostics and diffs (only on a terminal; NO_COLOR is respected)",
    )
    shows = parser.add_argument_group("what there is", "each prints to stdout and ends the tool")
    shows.add_argument("-h", "--help", action=_Show, nargs=0, help="print this, and every pipeline and pass")
    shows.add_argument(
        "--help-pass",
        action=_Show,
        metavar="NAME",
        help="print what a pass or pipeline does, its options, an example",
    )
    shows.add_argument("--list-passes", action=_Show, nargs=0, help="print the name of every pipeline and pass")
    shows.add_argument("--show-dialects", action=_Show, nargs=0, help="print the name of every dialect")
    shows.add_argument("--list-targets", action=_Show, nargs=0, help="print every target that programs are compiled for")
    shows.add_argument("--version", action=_Show, nargs=0, help="print the versions of Flambeau, xDSL and Python")
    for group in GROUPS:
        group.add_arguments(parser.add_argument_group(group.title))
    return parser

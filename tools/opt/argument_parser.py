"""The options of `flambeau-opt`, and the output of `--help` and similar options."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from flambeau.passes.manager.registry import PipelineError, all_passes, every_name
from flambeau.support.suggestions import did_you_mean, nearest
from flambeau.support.tables import discover
from flambeau.tools.opt.foreign_options import ALIASES, HINTS, NOTHING_TO_DO
from flambeau.tools.opt.groups import GROUPS
from flambeau.tools.opt.option_group import OptionAction
from flambeau.tools.opt.result_files import text_file

SPLIT_MARKER = "// -----"


def help_width() -> int:
    """Returns the width of help, in columns."""
    return max(60, min(140, shutil.get_terminal_size((120, 24)).columns)) - 2


class _Parser(argparse.ArgumentParser):
    """A parser that accepts passes as options. An option with an optional value takes it only after `=`, because the input may follow."""

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]  argparse has overloads for other classes of namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        given = list(sys.argv[1:] if args is None else args)
        options = given[: given.index("--") if "--" in given else len(given)]
        values = {option: action.const for option, action in self._option_string_actions.items() if action.nargs == "?"}
        completed = [f"{item}={values[item]}" if item in values else item for item in options]
        self._joined: list[str] = []
        known, others = self.parse_known_args([*completed, *given[len(options) :]], namespace or argparse.Namespace())
        self._check_joined()
        if others := [item for item in others if _name_of(item) not in NOTHING_TO_DO]:
            passes = ",".join(self._pass(item) for item in others)
            if known.passes:
                self.error(f"passes are named by --passes or by options of their own, not by both: {' '.join(others)}")
            known.passes = passes
        return known

    def add_spellings(self) -> None:
        """Adds aliases to each option: with one dash, and from mlir-opt and xdsl-opt. Help and errors show only Flambeau's name."""
        options = self._option_string_actions
        names = {option[2:]: action for option, action in options.items() if option.startswith("--")}
        names |= {f"mlir-{name}": action for name, action in names.items()} | {name: options[f"--{ours}"] for name, ours in ALIASES.items()}
        options.update({f"{dashes}{name}": action for name, action in names.items() for dashes in ("-", "--")})

    def error(self, message: str) -> NoReturn:
        """Ends the tool. An argument that begins with the letter of a flag may be a pass of a plug-in that is not loaded yet."""
        joined = re.fullmatch(r"argument -(\w)/\S+: ignored explicit argument '(.+)'", message)
        if joined is not None:
            name = joined[1] + joined[2]
            message = f"there is no option '-{name}'; for the pass of a plug-in write --{name}"
        super().error(message)

    def _get_option_tuples(self, option_string: str) -> list[tuple[Any, ...]]:
        """Returns the option that an argument abbreviates: `-pcse` is `-p cse`, unless it is a name, perhaps misspelt."""
        found = [item for item in super()._get_option_tuples(option_string) if len(item[1]) == 2]
        if found and self._is_name(_name_of(option_string)):
            return []
        self._joined += [option_string] if found else []
        return found

    def _is_name(self, text: str) -> bool:
        """Returns whether a word is or resembles the name of a pass or option, and is not a letter followed by the name of a pass."""
        passes = every_name()
        if text in passes or text in HINTS:
            return True
        alike = (name for name in (*passes, *ALIASES, *map(_name_of, self._options())) if name[0] == text[0])
        return text[1:] not in passes and nearest(text, alike, cutoff=0.8) is not None

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def _check_joined(self) -> None:
        """Refuses `-ping`, which was read as `-p ing`, if a plug-in loaded since then has a pass of that name."""
        for item in self._joined:
            if (name := _name_of(item)) in every_name():
                self.error(f"{item!r} is -{name[0]} {item[2:]} as long as the plug-in with the pass {name!r} is not loaded: write -{item}")

    def _pass(self, item: str) -> str:
        """Returns the element of a pipeline for `--pass` or `--pass=options`, also with one dash."""
        if not item.startswith("-"):
            self.error(f"there is one input already: {item!r} is too many")
        name, equals, options = item.removeprefix("-").removeprefix("-").partition("=")
        if name not in all_passes():
            discover()
            if name not in all_passes():
                self._check_name(name)
        return f"{name}{{{options}}}" if equals else name

    def _check_name(self, name: str) -> None:
        names = every_name()
        if name in names:
            return
        if name in HINTS:
            self.error(f"there is no option {name!r}; {HINTS[name]}")
        known = (*self._options(), *(f"--{known}" for known in (*names, *ALIASES)))
        meant = f"--{name.removeprefix('mlir-')}" if name not in ALIASES else name
        self.error(f"there is no option or pass {name!r}{did_you_mean(meant, known)}")


def _name_of(option: str) -> str:
    """Returns an option without its dashes and its value."""
    return option.lstrip("-").partition("=")[0]


class _Formatter(argparse.HelpFormatter):
    """A formatter that uses the available width."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=38, width=help_width())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return ", ".join(action.option_strings) if isinstance(action, _Flag) else super()._format_action_invocation(action)


class _Flag(OptionAction):
    """An option that is on when given; as in LLVM, `=true` and `=false` may follow it."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None):
        super().__init__(option_strings, dest, nargs="?", const="1", default=False, type=_yes_or_no, metavar="0|1", help=help)

    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        setattr(namespace, self.dest, value)


class _Show(OptionAction):
    """An option that prints something and ends the tool. It takes effect in order, so that it knows the plug-ins loaded before it."""

    def act(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object) -> None:
        from flambeau.tools.opt import help as pages

        if self.dest not in ("help", "version"):
            # Looking for installed plug-ins takes longer than everything else that --help does.
            discover()
        shows: dict[str, Callable[[], str]] = {
            "help": lambda: f"{parser.format_help()}\n{pages.overview(help_width())}",
            "help_pass": lambda: pages.page(str(value)),
            "list_passes": pages.listing,
            "show_dialects": pages.dialects,
            "list_targets": pages.targets,
            "list_backends": pages.backends,
            "version": pages.versions,
        }
        try:
            sys.stdout.write(shows[self.dest]())
        except PipelineError as error:
            parser.error(str(error))
        parser.exit()


def _yes_or_no(text: str) -> bool:
    words = {"1": True, "true": True, "0": False, "false": False}
    if text.lower() not in words:
        raise argparse.ArgumentTypeError(f"expected 0 or 1, got {text!r}")
    return words[text.lower()]


def make_parser() -> argparse.ArgumentParser:
    """Returns a parser with the options of the tool."""
    parser = _Parser(
        prog="flambeau-opt",
        description="Parses a module, runs a pipeline of passes over it, verifies it after each, and prints it. "
        "One dash is enough, as in -cse, and options that mlir-opt has are also understood under its names, as --mlir-print-ir-after-all.",
        usage="%(prog)s [options] [--pass …] [input]",
        allow_abbrev=False,
        formatter_class=_Formatter,
        add_help=False,
    )
    parser.register("action", "store_true", _Flag)
    parser.add_argument(
        "input", nargs="?", default="-", help="a .mlir file, with its weights in the .safetensors beside it, or a .pte; - is stdin"
    )
    parser.add_argument(
        "--weights",
        action="append",
        default=[],
        metavar="FILE",
        help="a .safetensors file with weights of the input, as for a module from stdin; may be given again",
    )
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
        help=f"each part between {SPLIT_MARKER} lines, or other markers, is a module of its own; a failure does not stop the others",
    )
    parser.add_argument(
        "--output-split-marker", metavar="MARKER", help="the separator of modules in the result; by default that of the input"
    )
    parser.add_argument(
        "--verify-diagnostics",
        nargs="?",
        const="all",
        choices=("all", "only-expected"),
        help="succeed if the diagnostics match comments such as // expected-error {{…}}; only-expected allows further ones",
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
    shows = parser.add_argument_group("lists and help", "each prints to stdout and ends the tool")
    shows.add_argument("-h", "--help", action=_Show, nargs=0, help="print this, and every pipeline and pass")
    shows.add_argument(
        "--help-pass",
        action=_Show,
        metavar="NAME",
        help="print the description of a pass or pipeline, its options, an example",
    )
    shows.add_argument("--list-passes", action=_Show, nargs=0, help="print the name of every pipeline and pass")
    shows.add_argument("--show-dialects", action=_Show, nargs=0, help="print the name of every dialect")
    shows.add_argument("--list-targets", action=_Show, nargs=0, help="print every target that programs are compiled for")
    shows.add_argument("--list-backends", action=_Show, nargs=0, help="print every backend, with its purpose and maturity")
    shows.add_argument("--version", action=_Show, nargs=0, help="print the versions of Flambeau, xDSL and Python")
    for group in GROUPS:
        group.add_arguments(parser.add_argument_group(group.title))
    parser.add_spellings()
    return parser

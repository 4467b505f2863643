"""The options of `flambeau-opt`, and what `--help` and its kin print."""

from __future__ import annotations

import argparse

from flambeau.tools.opt.groups import GROUPS

SPLIT_MARKER = "// -----"


def make_parser() -> argparse.ArgumentParser:
    """The options of the tool."""
    parser = argparse.ArgumentParser(
        prog="flambeau-opt",
        description="Parses a module, runs a pipeline of passes over it, verifies it after each, and prints it.",
    )
    parser.add_argument("input", nargs="?", default="-", help="a .mlir file, with its weights in the .safetensors beside it; - is stdin")
    parser.add_argument("-o", "--output", default="-", help="where to write the result; weights go beside it; - is stdout")
    parser.add_argument(
        "-p", "--passes", "--pass-pipeline", default="", metavar="PIPELINE", help="for example canonicalize,plan-memory{alignment=64}"
    )
    parser.add_argument("--split-input-file", action="store_true", help=f"each part between {SPLIT_MARKER} lines is a module of its own")
    parser.add_argument("--verify-diagnostics", action="store_true", help="print the error in place of a module that fails, and succeed")
    parser.add_argument("--print-op-generic", action="store_true", help="print the generic form of every operation")
    parser.add_argument("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    parser.add_argument("--list-passes", action="store_true", help="list every pass and pipeline, and exit")
    for group in GROUPS:
        group.add_arguments(parser.add_argument_group(group.title))
    return parser


def list_passes() -> None:
    """Prints the name of every pass and pipeline."""
    from flambeau.backends.delegate import register_passes
    from flambeau.passes.registry import all_passes, own_pass_names, pipelines, registered_passes

    register_passes()
    own = tuple(sorted((*own_pass_names(), *registered_passes())))
    for title, names in (
        ("Pipelines", sorted(pipelines())),
        ("Flambeau's passes", own),
        ("xDSL's passes", sorted(set(all_passes()) - set(own))),
    ):
        print(f"{title}:")
        for name in names:
            print(f"  {name}")

"""`flambeau-opt`: parse a module, run passes, verify, print."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import IRError, ParsedModule, parse_module, print_module, read_text, save_weights, verify_parsed

SPLIT_MARKER = "// -----"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="flambeau-opt",
        description="Parses a module, runs a pipeline of passes over it, verifies it after each, and prints it.",
    )
    parser.add_argument("input", nargs="?", default="-", help="a .mlir file, with its weights in the .safetensors beside it; - is stdin")
    parser.add_argument("-o", "--output", default="-", help="where to write the result; weights go beside it; - is stdout")
    parser.add_argument("-p", "--passes", default="", metavar="PIPELINE", help="for example canonicalize,plan-memory{alignment=64}")
    parser.add_argument("--split-input-file", action="store_true", help=f"each part between {SPLIT_MARKER} lines is a module of its own")
    parser.add_argument("--verify-diagnostics", action="store_true", help="print the error in place of a module that fails, and succeed")
    parser.add_argument("--print-op-generic", action="store_true", help="print the generic form of every operation")
    parser.add_argument("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    parser.add_argument("--list-passes", action="store_true", help="list every pass and pipeline, and exit")
    return parser


def _list_passes() -> None:
    from flambeau.backends.delegate import register_passes
    from flambeau.passes.pipelines import PIPELINES
    from flambeau.passes.registry import all_passes, own_pass_names, registered_passes

    register_passes()
    own = tuple(sorted((*own_pass_names(), *registered_passes())))
    for title, names in (
        ("Pipelines", sorted(PIPELINES)),
        ("Flambeau's passes", own),
        ("xDSL's passes", sorted(set(all_passes()) - set(own))),
    ):
        print(f"{title}:")
        for name in names:
            print(f"  {name}")


def _run_chunk(text: str, file: str, context: FlambeauContext, arguments: argparse.Namespace) -> ParsedModule:
    parsed = parse_module(text, context, file)
    verify_parsed(parsed)
    if arguments.passes:
        from flambeau.backends.delegate import register_passes
        from flambeau.passes.runner import run_passes

        register_passes()
        run_passes(arguments.passes, parsed.module, context)
    return parsed


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool on `argv` (`sys.argv[1:]` by default); returns the exit status."""
    arguments = _parser().parse_args(argv)
    # A module's objects all live until the end: looking for cycles among them only costs time.
    gc.freeze()
    gc.disable()
    try:
        return _main(arguments)
    except (IRError, OSError, ValueError) as error:
        print(_one_line(error), file=sys.stderr)
        return 1
    finally:
        gc.enable()


def _one_line(error: Exception) -> str:
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    return text if ": error: " in text else f"error: {text}"


def _main(arguments: argparse.Namespace) -> int:
    if arguments.list_passes:
        _list_passes()
        return 0
    from_stdin = arguments.input == "-"
    text = sys.stdin.read() if from_stdin else read_text(arguments.input)
    file = "<stdin>" if from_stdin else arguments.input
    chunks = text.split(f"{SPLIT_MARKER}\n") if arguments.split_input_file else [text]
    outputs: list[str] = []
    status = 0
    for chunk in chunks:
        context = FlambeauContext(allow_unregistered=arguments.allow_unregistered_dialect)
        if not from_stdin:
            context.blobs.open_beside(arguments.input)
        try:
            parsed = _run_chunk(chunk, file, context, arguments)
        except (IRError, ValueError) as error:
            if arguments.verify_diagnostics:
                outputs.append(_one_line(error) + "\n")
                continue
            print(_one_line(error), file=sys.stderr)
            status = 1
            continue
        outputs.append(print_module(parsed.module, generic=arguments.print_op_generic, locations=arguments.print_debuginfo))
        if arguments.output != "-":
            save_weights(parsed.module, context.blobs, Path(arguments.output).with_suffix(".safetensors"))
    result = f"{SPLIT_MARKER}\n".join(outputs)
    if arguments.output == "-":
        sys.stdout.write(result)
    elif status == 0:
        Path(arguments.output).write_text(result)
    return status


if __name__ == "__main__":
    sys.exit(main())

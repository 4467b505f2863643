"""`flambeau-opt`: parse modules, run a pipeline over each, verify, print."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import IRError, parse_module, print_module, read_text, save_weights, verify_parsed
from flambeau.passes.manager import Instrumentation, Pipeline
from flambeau.tools.opt.groups import GROUPS
from flambeau.tools.opt.option_group import Chunk
from flambeau.tools.opt.options import SPLIT_MARKER, list_passes, make_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool on `argv` (`sys.argv[1:]` by default); returns the exit status."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    for group in GROUPS:
        group.check(parser, arguments)
    # A module's objects all live until the end: looking for cycles among them only costs time.
    gc.freeze()
    gc.disable()
    try:
        return _main(arguments)
    except (OSError, ValueError) as error:
        print(_one_line(error), file=sys.stderr)
        return 1
    finally:
        gc.enable()


def _one_line(error: Exception) -> str:
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
    return text if ": error: " in text or text.startswith("error: ") else f"error: {text}"


def _main(arguments: argparse.Namespace) -> int:
    if arguments.list_passes:
        list_passes()
        return 0
    pipeline = _pipeline(arguments.passes)
    from_stdin = arguments.input == "-"
    text = sys.stdin.read() if from_stdin else read_text(arguments.input)
    file = "<stdin>" if from_stdin else arguments.input
    chunks = text.split(f"{SPLIT_MARKER}\n") if arguments.split_input_file else [text]
    outputs: list[str] = []
    status = 0
    for number, chunk_text in enumerate(chunks):
        context = FlambeauContext(allow_unregistered=arguments.allow_unregistered_dialect)
        if not from_stdin:
            context.blobs.open_beside(arguments.input)
        try:
            parsed = parse_module(chunk_text, context, file)
            verify_parsed(parsed)
            run_pipeline(Chunk(parsed, context, pipeline, number, arguments))
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
    for group in GROUPS:
        group.finish(arguments)
    result = f"{SPLIT_MARKER}\n".join(outputs)
    if arguments.output == "-":
        sys.stdout.write(result)
    elif status == 0:
        Path(arguments.output).write_text(result)
    return status


def _pipeline(text: str) -> Pipeline:
    if not text:
        return Pipeline.of([])
    from flambeau.backends.delegate import register_passes

    register_passes()
    return Pipeline.parse(text)


def run_pipeline(chunk: Chunk) -> None:
    """Runs the pipeline over one chunk, watched as the options ask. Raises PassError."""
    instrumentations: list[Instrumentation] = []
    for group in GROUPS:
        instrumentations.extend(group.instrumentations(chunk))
    chunk.pipeline.run(chunk.parsed.module, chunk.context, instrumentations)


if __name__ == "__main__":
    sys.exit(main())

"""Compiles all-MiniLM-L6-v2 from `nn.Module` to a `.pte`, stage by stage, and runs a semantic search with it on the C runtime.

python examples/minilm/search.py "which animal sleeps the most?"
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent))

HERE = Path(__file__).resolve().parent
DEFAULT_QUERY = "which animal sleeps the most?"


@dataclass(frozen=True)
class StageRow:
    """A row of the table: a stage, its number of operations, and the distance between its result and PyTorch's result."""

    stage: str
    operations: int
    seconds: float
    engine: str
    distance: float


def parse_arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Compiles MiniLM and searches a small corpus with it.")
    parser.add_argument("query", nargs="?", default=os.environ.get("QUERY") or DEFAULT_QUERY)
    parser.add_argument("--corpus", type=Path, default=HERE / "corpus.txt", help="a text file with a sentence per line")
    parser.add_argument("--target", default="flambeau", help="executorch or flambeau")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/minilm.pte"), help="the program to write")
    parser.add_argument("--top", type=int, default=5, help="how many answers to print")
    return parser.parse_args()


def main() -> int:
    """Runs the example; returns the exit status."""
    arguments = parse_arguments()
    console = Console(stderr=True, highlight=False)
    if not arguments.corpus.is_file():
        console.print(f"error: no such file: {arguments.corpus}")
        return 1
    sentences = [line for line in arguments.corpus.read_text().splitlines() if line.strip()]
    rows, data, tokenize = compile_encoder(console, arguments.target)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_bytes(data)
    with console.status(f"embedding {len(sentences)} sentences on the C runtime"):
        embed = c_engine(data)
        start = time.perf_counter()
        corpus = np.concatenate([embed(tokenize(sentence))[0] for sentence in sentences])
        milliseconds = (time.perf_counter() - start) * 1e3 / len(sentences)
        scores = corpus @ embed(tokenize(arguments.query))[0][0]
    print_table(console, rows)
    console.print(f"{arguments.output}: {len(data)} bytes; {milliseconds:.1f} ms for a sentence, tokens included")
    console.print(f"\n{arguments.query}", style="bold")
    for index in np.argsort(-scores)[: arguments.top]:
        print(f"{scores[index]:6.3f}  {sentences[index]}")
    return 0


def compile_encoder(console: Console, target: str) -> tuple[list[StageRow], bytes, Callable[[str], Sequence[Any]]]:
    """Compiles the encoder through every stage, and compares each stage with PyTorch on one sentence.

    Returns the rows of the table, the bytes of the `.pte`, and a function from a sentence to the program's inputs.
    """
    with console.status("importing PyTorch and transformers"), quiet():
        import encoder
        import torch

    from flambeau.compiler.compilation import Compilation
    from flambeau.compiler.stages import STAGES
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.frontends.torch_export import import_program
    from flambeau.passes.manager.pipeline_options import PipelineOptions
    from flambeau.tools.commands.engines import make_engine

    with console.status("reading the weights of all-MiniLM-L6-v2"), quiet():
        model, tokenizer = encoder.load_encoder(), encoder.load_tokenizer()

    def tokenize(sentence: str) -> Sequence[Any]:
        return [tensor.numpy() for tensor in encoder.tokenize(tokenizer, sentence)]

    sample = encoder.tokenize(tokenizer, "A flambeau is a torch you carry.")
    rows: list[StageRow] = []
    with console.status("torch.export"), quiet(), torch.no_grad():
        start = time.perf_counter()
        program = torch.export.export(model, sample)
        expected = model(*sample).numpy()
        nodes = sum(node.op == "call_function" for node in program.graph.nodes)
        rows.append(StageRow("torch.export", nodes, time.perf_counter() - start, "torch", 0.0))
    context = FlambeauContext()
    start = time.perf_counter()
    with console.status("importing into the aten dialect"):
        compilation = Compilation(import_program(program, context), context, PipelineOptions(target=target))
    seconds = time.perf_counter() - start
    inputs = [tensor.numpy() for tensor in sample]
    for stage in STAGES:
        with console.status(f"compiling to {stage}"):
            compilation.to(stage)
            engine = "torch" if stage == "aten" else "numpy"
            result = make_engine(engine, compilation.module, context, "forward")(inputs)[0]
        record = compilation.records[-1]
        rows.append(StageRow(stage, record.operations, seconds if stage == "aten" else record.seconds, engine, distance(result, expected)))
    with console.status("writing the .pte"):
        data = compilation.emit()
        result = c_engine(data)(inputs)[0]
    record = compilation.records[-1]
    rows.append(StageRow(".pte", record.operations, record.seconds, "C runtime", distance(result, expected)))
    return rows, data, tokenize


def c_engine(data: bytes) -> Callable[[Sequence[Any]], list[Any]]:
    """Returns a function that runs the program on the C runtime."""
    from flambeau.runtime import Runtime

    return Runtime.get().load_program(data).load_method("forward").execute


def distance(result: Any, expected: Any) -> float:
    """Returns the largest absolute difference, divided by the largest absolute expected value."""
    return float(np.abs(np.asarray(result) - expected).max() / np.abs(expected).max())


def print_table(console: Console, rows: Sequence[StageRow]) -> None:
    """Prints the table of stages."""
    table = Table("stage", "operations", "seconds", "run by", "max |difference| / scale", box=None, header_style="bold")
    for row in rows:
        table.add_row(row.stage, str(row.operations), f"{row.seconds:.2f}", row.engine, f"{row.distance:.1e}")
    console.print(table)


class quiet:
    """Silences the warnings and progress bars of the libraries that load the model."""

    def __enter__(self) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        logging.disable(logging.WARNING)
        self._filters = warnings.catch_warnings()
        self._filters.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: object) -> None:
        logging.disable(logging.NOTSET)
        self._filters.__exit__(None, None, None)


if __name__ == "__main__":
    sys.exit(main())

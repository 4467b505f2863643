"""Compiles a language model with random weights, and generates tokens with PyTorch, Python, the C program and stock ExecuTorch.

    python examples/llm/generate.py qwen3
    python examples/llm/generate.py mistral --window 64 --temperature 0.8 --top-k 50

Without a temperature, the tokens of all engines must be equal, or the exit status is 1.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generation import Sampler, generate
from rich.console import Console
from rich.table import Table

END = 2
"""The token that ends a text, which is random here: no engine stops at it."""


def parse_arguments() -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Compiles a language model with random weights and generates tokens with it.")
    parser.add_argument("family", nargs="?", default="llama", choices=("llama", "qwen3", "mistral"))
    parser.add_argument("--window", type=int, help="tokens that a token sees, for qwen3 and mistral")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=512, help="features, 64 for each head")
    parser.add_argument("--prompt", type=int, default=24, help="random tokens to begin with")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to generate")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0, help="of the sampler")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/llm"), help="the folder of the programs")
    return parser.parse_args()


def runner() -> Path:
    """Returns the path of the program `flambeau-run-llm` of the C runtime that Python uses."""
    from flambeau.runtime.binding.library import find_library

    folders = [find_library().parent, Path(sysconfig.get_path("scripts"))]
    return next(folder / "flambeau-run-llm" for folder in folders if (folder / "flambeau-run-llm").exists())


def run_c(program: Path, prompt: list[int], arguments: argparse.Namespace) -> list[int]:
    """Returns the tokens that the C program generates."""
    options = ["--tokens", arguments.tokens, "--seed", arguments.seed, "--ignore-eos"]
    options += ["--temperature", arguments.temperature, "--top-p", arguments.top_p]
    options += ["--top-k", arguments.top_k] if arguments.top_k else []
    command = [str(runner()), str(program), "--prompt", *map(str, prompt), *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return [int(token) for token in result.stdout.split()]


def main() -> int:
    """Runs the example; returns the exit status."""
    arguments = parse_arguments()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    console = Console(stderr=True, highlight=False)
    with console.status("importing PyTorch and transformers"):
        import torch
        from executorch import runtime as executorch_runtime
        from language_model import Sizes, constant_methods, export_methods, greedy_tokens, make_model

        import flambeau
    heads = max(arguments.hidden // 64, 1)
    sizes = Sizes(
        layers=arguments.layers,
        hidden=arguments.hidden,
        heads=heads,
        key_heads=max(heads // 4, 1),
        head_size=arguments.hidden // heads,
        intermediate=arguments.hidden * 11 // 4,
    )
    torch_functions: Any = torch
    torch_functions.manual_seed(0)
    model = make_model(arguments.family, sizes, arguments.window)
    prompt = [int(token) for token in torch.randint(3, sizes.vocabulary, (arguments.prompt,))]
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, float, list[int]]] = []

    def measure(name: str, run: Callable[[], list[int]]) -> None:
        with console.status(f"generating with {name}"):
            start = time.perf_counter()
            tokens = run()
            rows.append((name, time.perf_counter() - start, tokens))

    def loop(program: Any) -> Callable[[], list[int]]:
        prefill, decode = program.load_method("prefill"), program.load_method("decode")
        sampler = Sampler(arguments.temperature, arguments.top_k, arguments.top_p, arguments.seed)
        tokens = generate(prefill, decode, prompt, at_once=sizes.prompt, context=sizes.context, sampler=sampler)
        return lambda: [token for token, _ in zip(tokens, range(arguments.tokens), strict=False)]

    if not arguments.temperature > 0:
        measure("PyTorch", lambda: greedy_tokens(model, prompt, arguments.tokens))
    with console.status("torch.export"):
        methods = export_methods(model, sizes)
    stock: Any = executorch_runtime
    for target in ("flambeau", "executorch"):
        path = arguments.output / f"{arguments.family}-{target}.pte"
        with console.status(f"compiling for {target}"):
            config = flambeau.EdgeCompileConfig(target=target)
            flambeau.to_edge(methods, constant_methods(sizes, [END]), config).to_executorch().save(path)
        measure(f"Python, {target}", loop(flambeau.Runtime.get().load_program(path)))
        measure(f"flambeau-run-llm, {target}", lambda path=path: run_c(path, prompt, arguments))
        if target == "executorch":
            measure("stock ExecuTorch", loop(stock.Runtime.get().load_program(path)))
        console.print(f"{path}: {path.stat().st_size} bytes")
    table = Table("engine", "seconds", "tokens", "as the first", box=None, header_style="bold")
    for name, seconds, tokens in rows:
        table.add_row(name, f"{seconds:.2f}", str(len(tokens)), "yes" if tokens == rows[0][2] else "NO")
    console.print(table)
    print(*rows[0][2])
    return int(any(tokens != rows[0][2] for _, _, tokens in rows))


if __name__ == "__main__":
    sys.exit(main())

"""A language model: prefill and decode in one program, tokens as PyTorch's in every engine, and what a step costs."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from engines import peer
from generate import runner
from generation import Sampler, generate
from language_model import Sizes, constant_methods, export_methods, greedy_tokens, make_model

import flambeau
from flambeau.dialects.exec.instructions import CallOp, reads_and_writes
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slots import StateOp, nbytes, root_of
from flambeau.runtime import Runtime

TINY = Sizes(layers=2, hidden=64, heads=4, key_heads=2, head_size=16, intermediate=96, vocabulary=97, context=32, prompt=8)
PROMPT = [5, 17, 3, 88, 2, 41, 7, 60, 12, 33, 9]
"""More than `prefill` takes at once."""
TOKENS = 16
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned long calls;
void *malloc(size_t size) {
  static void *(*next)(size_t);
  ++calls;
  if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
  return next(size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  static void *(*next)(size_t, size_t);
  ++calls;
  if (!next) next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
  return next(alignment, size);
}
__attribute__((destructor)) static void report(void) { fprintf(stderr, "allocations: %lu\\n", calls); }
"""


@cache
def model(family: str, window: int | None) -> Any:
    cast(Any, torch).manual_seed(0)
    return make_model(family, TINY, window)


@cache
def methods(family: str, window: int | None) -> dict[str, torch.export.ExportedProgram]:
    return export_methods(model(family, window), TINY)


@cache
def programs(family: str, window: int | None) -> dict[str, flambeau.ExecutorchProgramManager]:
    constants = constant_methods(TINY, [TINY.vocabulary])
    return {
        target: flambeau.to_edge(methods(family, window), constants, flambeau.EdgeCompileConfig(target=target)).to_executorch()
        for target in ("executorch", "flambeau")
    }


def in_python(runtime: Any, program: bytes, sampler: Sampler) -> list[int]:
    loaded = runtime.get().load_program(program)
    (at_once,) = loaded.load_method("get_max_seq_len").execute([])
    (context,) = loaded.load_method("get_max_context_len").execute([])
    tokens = generate(
        loaded.load_method("prefill"), loaded.load_method("decode"), PROMPT, at_once=at_once, context=context, sampler=sampler
    )
    return [token for token, _ in zip(tokens, range(TOKENS), strict=False)]


def in_c(program: Path, *options: object, environment: dict[str, str] | None = None) -> tuple[list[int], str]:
    command = [str(runner()), str(program), "--prompt", *map(str, PROMPT), *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})})
    return [int(token) for token in result.stdout.split()], result.stderr


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.pte"
    programs("qwen3", 6)["flambeau"].save(path)
    return path


@pytest.mark.parametrize(("family", "window"), [("llama", None), ("qwen3", 6)])
def test_tokens_are_those_of_eager_in_every_engine(family: str, window: int | None, tmp_path: Path) -> None:
    expected = greedy_tokens(model(family, window), PROMPT, TOKENS)
    assert len(set(expected)) > 4
    for target, program in programs(family, window).items():
        assert in_python(Runtime, program.buffer, Sampler()) == expected
        program.save(tmp_path / f"{target}.pte")
        assert in_c(tmp_path / f"{target}.pte", "--tokens", TOKENS)[0] == expected
    assert in_python(peer.Runtime, programs(family, window)["executorch"].buffer, Sampler()) == expected


def test_a_step_moves_the_new_entries_of_the_cache_and_nothing_else() -> None:
    for target, program in programs("qwen3", 6).items():
        found = {op.sym_name.data: op for op in program.module.walk() if isinstance(op, MethodOp)}
        moved = 0
        for op in found["decode"].instructions:
            reads, writes = reads_and_writes(op)
            assert not any(isinstance(root_of(slot)[0].owner, StateOp) for slot in reads) or (
                isinstance(op, CallOp) and op.operator.data in ("aten::index_put_", "aten::bmm.out", "flambeau::cached_attention.out")
            ), op
            for slot in writes:
                if isinstance(root_of(slot)[0].owner, StateOp):
                    assert isinstance(op, CallOp) and op.operator.data == "aten::index_put_"
                    moved += nbytes(op.ins[2].type)
        assert moved == 2 * TINY.layers * TINY.key_heads * TINY.head_size * 4, target
        written = [op.operator.data for op in found["prefill"].instructions if isinstance(op, CallOp)]
        assert written.count("aten::index_put_") == 2 * TINY.layers and "aten::copy_" not in written


def test_attention_reads_what_is_written_of_the_cache() -> None:
    module = programs("qwen3", 6)["flambeau"].module
    calls = [op.operator.data for op in module.walk() if isinstance(op, CallOp)]
    assert calls.count("flambeau::cached_attention.out") == 2 * TINY.layers


def test_weights_are_stored_once() -> None:
    stored = sum(parameter.numel() * parameter.element_size() for parameter in model("qwen3", 6).parameters())
    for program in programs("qwen3", 6).values():
        assert len(program.buffer) < 1.4 * stored


def test_a_token_allocates_nothing(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "count.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "count.c", "-o", "count.so", "-ldl"], cwd=tmp_path, check=True)
    counts = set[str]()
    for count in (2, 16):
        options = ("--tokens", count, "--temperature", 0.9, "--top-k", 20, "--top-p", 0.9)
        _, errors = in_c(saved, *options, environment={"LD_PRELOAD": str(tmp_path / "count.so")})
        counts |= {line for line in errors.splitlines() if line.startswith("allocations: ")}
    assert len(counts) == 1 and int(counts.pop().split()[1]) > 10


@pytest.mark.parametrize("options", [{}, {"top_k": 5}, {"top_p": 0.6}, {"top_k": 30, "top_p": 0.8}])
def test_samplers_agree(options: dict[str, float], saved: Path) -> None:
    sampler = replace(Sampler(temperature=1.5, seed=7), **cast("dict[str, Any]", options))
    given = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    tokens, _ = in_c(saved, "--tokens", TOKENS, "--temperature", 1.5, "--seed", 7, *given)
    assert tokens == in_python(Runtime, programs("qwen3", 6)["flambeau"].buffer, sampler)
    assert tokens != greedy_tokens(model("qwen3", 6), PROMPT, TOKENS)


def test_the_end_of_a_text_and_of_the_cache(saved: Path) -> None:
    tokens, errors = in_c(saved, "--tokens", 100)
    assert len(tokens) == TINY.context - len(PROMPT) + 1 and "decode: 21 tokens" in errors
    # A prefill that takes one token at once is the decode.
    decode = methods("qwen3", 6)["decode"]
    ending = flambeau.to_edge({"prefill": decode, "decode": decode}, constant_methods(TINY, [tokens[3]])).to_executorch()
    ending.save(saved)
    assert in_c(saved, "--tokens", 100)[0] == tokens[: tokens.index(tokens[3]) + 1]
    assert len(in_c(saved, "--tokens", 8, "--ignore-eos")[0]) == 8


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--prompt"], 2, "there is no --prompt"),
        (["--prompt", "x"], 2, "a token id of --prompt is a whole number"),
        (["--top-p", "2", "--prompt", "1"], 2, "--top-p takes a number from 0 to 1, not 2"),
        (["--prompt", *["1"] * 33], 2, "longer than the program's cache"),
        (["--prompt", "97"], 6, "embedding"),
    ],
)
def test_what_is_refused(options: list[str], code: int, message: str, saved: Path) -> None:
    result = subprocess.run([str(runner()), str(saved), *options], capture_output=True, text=True, check=False)
    assert result.returncode == code and message in result.stderr

"""Kernels of a library that has some element types only: with these they give what they give otherwise, and others they refuse."""

import random
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from kernel_harness import DTYPES, KernelError, Out, dim_order, find_library, kernels, kernels_of, run, schema_of, type_of, using
from test_kernels_arbitrary import Arguments

SOURCE = Path(__file__).parents[3] / "runtime" / "c"
CMAKE = Path(sysconfig.get_path("scripts")) / "cmake"
DRAWS = 12


@pytest.fixture(scope="module")
def pruned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with float32 alone, as that of a float model is; not optimized, which is quick to compile."""
    folder = tmp_path_factory.mktemp("pruned")
    options = ["-DFLAMBEAU_DTYPES=float32", "-DFLAMBEAU_BACKENDS=", "-DFLAMBEAU_TESTS=OFF", "-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O0"]
    subprocess.run([CMAKE, "-S", SOURCE, "-B", folder, *options], check=True, capture_output=True)
    subprocess.run([CMAKE, "--build", folder, "--target", "flambeau", "-j", "2"], check=True, capture_output=True)
    return next(folder.glob("libflambeau.[sd]*"))


def tensors_of(values: list[Any]) -> list[torch.Tensor]:
    """The tensors among values, and in their lists."""
    flat = [item for value in values for item in (cast("list[Any]", value) if isinstance(value, list) else [value])]
    return [item for item in flat if isinstance(item, torch.Tensor)]


def outcome(name: str, args: list[Any], outs: list[Out]) -> list[torch.Tensor] | KernelError:
    """What a kernel writes, or why it refuses."""
    try:
        return run(name, *args, outs=outs)
    except KernelError as error:
        return error


class Floats(Arguments):
    """Mostly floats: what the others refuse is one draw in three."""

    def __init__(self, chance: random.Random):
        super().__init__(chance)
        self.dtype = chance.choice([torch.float32] * 4 + [torch.int8, torch.float64, torch.float16])
        self.is_pure = chance.random() < 0.5

    def tensor(self) -> torch.Tensor:
        found = super().tensor()
        return found.to(torch.float32) if self.is_pure and not found.is_complex() else found

    def out(self) -> Out:
        found = super().out()
        return Out(found.shape, torch.float32, found.order, found.dynamic, torch.zeros(tuple(found.shape))) if self.is_pure else found


def test_a_float_model_has_what_it_had_and_other_types_are_refused(pruned: Path) -> None:
    whole, counts = find_library(), {"equal": 0, "refused for its type": 0}
    assert kernels_of(pruned).keys() == kernels_of(whole).keys()
    for name in sorted(name for name in kernels() if (schema := schema_of(name)) and schema.mutates and schema.outs):
        schema, chance = schema_of(name), random.Random(name)
        assert schema is not None
        for _ in range(DRAWS):
            draw = Floats(chance)
            args = [draw.value(type_of(argument)) for argument in schema.arguments if argument not in schema.outs]
            outs = [draw.out() for _ in schema.outs]
            with using(whole):
                expected = outcome(name, args, outs)
            with using(pruned):
                found = outcome(name, args, outs)
            dtypes = {*(tensor.dtype for tensor in tensors_of(args)), *(out.dtype for out in outs)}
            if isinstance(found, KernelError):
                refused = isinstance(expected, KernelError) or dtypes != {torch.float32}
                assert refused and found.message, f"{name} refuses {args} into {outs}: {found}, and gave {expected}"
                counts["refused for its type"] += not isinstance(expected, KernelError)
                continue
            assert not isinstance(expected, KernelError), f"{name} takes {args} into {outs}, which it refused: {expected}"
            for result, wanted in zip(found, expected, strict=True):
                is_close = torch.allclose(result, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
                assert is_close, f"{name}: {args} give {result}, and {wanted} elsewhere"
            counts["equal"] += 1
    assert counts["equal"] > 300 and counts["refused for its type"] > 50, counts


def test_only_floats_are_compiled(pruned: Path) -> None:
    wide = torch.ones(2, 2, dtype=torch.float64)
    with using(pruned):
        for dtype in (dtype for dtype in DTYPES if dtype != torch.float32 and not dtype.is_complex):
            x = wide.to(dtype)
            with pytest.raises(KernelError, match="must be a tensor of a known type"):
                run("aten::mm.out", x, x, outs=[Out((2, 2), dtype, dim_order(x))])
            with pytest.raises(KernelError, match="must be a tensor of a known type"):
                run("aten::add.out", x, x, outs=[Out((2, 2), dtype, dim_order(x))])
        x = wide.float()
        # Of its outs, the indices are of another type.
        with pytest.raises(KernelError, match="the outputs must be tensors"):
            run("aten::sort.values_stable", x, False, -1, True, outs=[Out((2, 2), torch.float32), Out((2, 2), torch.int64)])
        assert torch.equal(run("aten::add.out", x, 2, outs=[Out((2, 2), torch.float32)])[0], x + 2)

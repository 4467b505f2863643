"""The C adapter runs what ExecuTorch's own compiler writes for XNNPACK, as ExecuTorch does."""

import ctypes.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from changed_payloads import Trials
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime as StockRuntime
from runtime_programs import executable
from shares import drawn, share
from torch_programs import seed

from flambeau.runtime import FlambeauError, Runtime, include_folder
from flambeau.runtime.binding.library import find_library
from flambeau.runtime.pte import read_program
from flambeau.tools.environment import library_variables

nn = torch.nn
Tensors = tuple[torch.Tensor, ...]


Function = (
    Callable[[torch.Tensor], Any]
    | Callable[[torch.Tensor, torch.Tensor], Any]
    | Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], Any]
)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Function):
        super().__init__()
        self.function: Callable[..., Any] = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape))).to(dtype)


def image(channels: int = 3, size: int = 10) -> torch.Tensor:
    return numbers(2, channels, size, size)


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.conv(x)) + F.max_pool2d(x, 3, 1, 1)


class Scaled(nn.Module):
    """A constant operand, which XNNPACK reads where it lies."""

    def __init__(self, *shape: int):
        super().__init__()
        self.scale = nn.Parameter(numbers(*shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + 0.5 * x


seed()
NETS: dict[str, tuple[nn.Module, Tensors]] = {
    "mlp": (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)), (numbers(3, 8),)),
    "linear of three dimensions": (nn.Linear(8, 5, bias=False), (numbers(2, 3, 8),)),
    "convolutions": (
        nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU6(), nn.Conv2d(8, 8, 3, groups=8), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1)),
        (image(),),
    ),
    "strides and dilations": (nn.Conv2d(3, 6, (3, 2), stride=(2, 1), dilation=(1, 2), padding=(1, 2)), (image(),)),
    "groups": (nn.Conv2d(4, 6, 3, groups=2, bias=False), (image(4),)),
    "depthwise with a multiplier": (nn.Conv2d(4, 8, 3, groups=4, padding=1), (image(4),)),
    "transposed": (nn.ConvTranspose2d(3, 5, 3, stride=2, padding=1, output_padding=1), (image(),)),
    "transposed groups": (nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2), (image(4),)),
    "batch norm": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Hardtanh()), (image(),)),
    "one dimension": (nn.Conv1d(3, 4, 3), (numbers(2, 3, 12),)),
    "average pooling": (nn.AvgPool2d(3, stride=2), (image(),)),
    "max pooling": (nn.MaxPool2d(3, stride=2, padding=1, dilation=1), (image(),)),
    "global pooling": (Call(lambda x: x.mean((2, 3), keepdim=True)), (image(),)),
    "adaptive pooling": (nn.AdaptiveAvgPool2d(1), (image(),)),
    "upsampling": (Call(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)), (image(),)),
    "upsampling by pixels": (Call(lambda x: F.interpolate(x, size=(7, 13), mode="bilinear", align_corners=False)), (image(),)),
    "padding": (Call(lambda x: F.pad(x, (1, 2, 0, 3), value=1.5) * 2.0), (image(),)),
    "binary": (Call(lambda x, y: torch.maximum(x + y, x - y) * torch.minimum(x, y) / (y * y + 1.0)), (numbers(4, 6), numbers(4, 6))),
    "broadcast": (Call(lambda x, y: x * y + x), (numbers(2, 4, 6), numbers(4, 1))),
    "constant operand": (Scaled(4, 6), (numbers(2, 4, 6),)),
    "unary": (Call(lambda x: torch.exp(x.abs().neg()).sqrt() + torch.floor(x) + torch.ceil(x) + x.square()), (numbers(4, 6),)),
    "activations": (Call(lambda x: torch.sigmoid(x) + torch.tanh(x) + F.hardswish(x) + F.leaky_relu(x, 0.1)), (numbers(4, 6),)),
    "gelu, log, rsqrt": (Call(lambda x: F.gelu(x) + torch.log(x.abs() + 1.0) + torch.rsqrt(x.abs() + 1.0)), (numbers(4, 6),)),
    "sine and cosine": (Call(lambda x: torch.sin(x) * torch.cos(x)), (numbers(4, 6),)),
    "clamp": (Call(lambda x: torch.clamp(x * 2.0, -0.5, 1.0)), (numbers(4, 6),)),
    "prelu": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.PReLU(4)), (image(),)),
    "concatenation": (
        Call(lambda a, b, c, d, e: torch.cat([torch.cat([a, b], 1), torch.cat([a, b, c, d], 1), torch.cat([a, b, c, d, e], 1)], 1) * 2.0),
        tuple(numbers(2, n, 3) for n in range(1, 6)),
    ),
    "slice": (Call(lambda x: x[:, 1:4] * 2.0 + x[:, 2:5]), (numbers(3, 6),)),
    "transpose and reshape": (Call(lambda x: x.permute(2, 0, 1).reshape(6, -1) * 2.0), (numbers(2, 4, 6),)),
    "permuted image": (Call(lambda x: F.relu(x.permute(0, 2, 3, 1)) * 2.0), (image(),)),
    "softmax": (nn.Softmax(-1), (numbers(2, 3, 7),)),
    "bmm": (Call(torch.bmm), (numbers(3, 4, 5), numbers(3, 5, 2))),
    "attention": (Attention(), (numbers(1, 2, 5, 8), numbers(1, 2, 5, 8), numbers(1, 2, 5, 8))),
    "residual": (Residual(), (image(),)),
    "two outputs": (Call(lambda x, y: (x + y, torch.sigmoid(x * y))), (numbers(4, 6), numbers(4, 6))),
    "half precision": (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).half(), (numbers(3, 8, dtype=torch.float16),)),
    "half convolution": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Hardtanh()).half(), (image().half(),)),
    "half and single": (Call(lambda x: (x.half() + 1.0).float() * 3.0), (numbers(4, 6),)),
}
TOLERANCE = {np.dtype("float32"): 1e-4, np.dtype("float16"): 4e-3}


def stock(model: nn.Module, inputs: Tensors, **options: Any) -> bytes:
    """The program that ExecuTorch's compiler writes."""
    exported = torch.export.export(model.eval(), inputs, **options)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def run_stock(program: bytes, folder: Path, inputs: Tensors) -> list[torch.Tensor]:
    path = folder / "stock.pte"
    path.write_bytes(program)
    runtime: Any = StockRuntime.get()
    method = runtime.load_program(path).load_method("forward")
    return [value.clone() for value in method.execute(inputs)]


def same(actual: list[Any], expected: list[torch.Tensor]) -> None:
    assert len(actual) == len(expected)
    for found, value in zip(actual, expected, strict=True):
        wanted = value.detach().numpy()
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        scale = max(float(np.abs(wanted).max()), 1e-6)
        assert float(np.abs(found.astype("float64") - wanted).max()) <= TOLERANCE.get(wanted.dtype, 0) * scale


def delegates(program: bytes) -> int:
    return sum(len(plan.delegates) for plan in read_program(program).execution_plan)


@pytest.mark.parametrize("name", NETS)
def test_a_stock_program_computes_what_executorch_does(name: str, tmp_path: Path):
    model, inputs = NETS[name]
    program = stock(model, inputs)
    assert delegates(program) > 0, "nothing was delegated"
    method = Runtime.get().load_program(program).load_method("forward")
    found = method.execute(arrays(inputs))
    same(found, run_stock(program, tmp_path, inputs))
    with torch.no_grad():
        expected: Any = model(*inputs)
    same(found, [*expected] if len(found) > 1 else [expected])
    same(method.execute(arrays(inputs)), run_stock(program, tmp_path, inputs))


def arrays(values: Tensors) -> list[Any]:
    return [value.numpy() for value in values]


DYNAMIC: dict[str, tuple[nn.Module, list[Tensors], Any]] = {
    "rows": (
        nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)),
        [(numbers(rows, 8),) for rows in (5, 2, 9, 2, 1)],
        ({0: torch.export.Dim("rows", max=16)},),
    ),
    "images": (
        nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU6(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, groups=4)),
        [(numbers(batch, 3, size, size),) for batch, size in ((2, 12), (1, 8), (3, 16), (2, 12))],
        ({0: torch.export.Dim("batch", max=4), 2: 2 * torch.export.Dim("h", min=3, max=8), 3: 2 * torch.export.Dim("w", min=3, max=8)},),
    ),
    "operands": (
        Call(lambda x, y: torch.cat([x + y, x * 2.0], 0)),
        [(numbers(rows, 6), numbers(rows, 6)) for rows in (3, 7, 1, 3)],
        ((rows := {0: torch.export.Dim("n", max=8)}, rows),),
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_sizes_change_from_call_to_call(name: str, tmp_path: Path):
    model, calls, sizes = DYNAMIC[name]
    program = stock(model, calls[0], dynamic_shapes=sizes)
    method = Runtime.get().load_program(program).load_method("forward")
    for inputs in calls:
        with torch.no_grad():
            same(method.execute(arrays(inputs)), [model(*inputs)])
        same(method.execute(arrays(inputs)), run_stock(program, tmp_path, inputs))


@pytest.fixture(scope="module")
def mlp() -> bytes:
    return stock(*NETS["mlp"])


def test_options_reach_the_backend(mlp: bytes, tmp_path: Path):
    runtime = Runtime.get()
    model, inputs = NETS["mlp"]
    for name in ("xnnpack", "XnnpackBackend"):
        method = runtime.load_program(mlp, backend_options={name: {"threads": 2}}).load_method("forward")
        with torch.no_grad():
            same(method.execute(arrays(inputs)), [model(*inputs)])
    path = tmp_path / "mlp.pte"
    path.write_bytes(mlp)
    refused = {
        "its option 'threads' is a number from 1 to 1024, not '0'": {"threads": 0},
        "its option 'float_rows' is a number from 0 to 2147483647, not '-1'": {"float_rows": -1},
        "its option 'threads' is a number from 1 to 1024, not 'two'": {"threads": "two"},
        "the XNNPACK library cannot be loaded: /nowhere.so: cannot open": {"library": "/nowhere.so"},
    }
    for message, options in refused.items():
        with pytest.raises(FlambeauError, match=rf"^method 'forward', delegate 0: backend 'XnnpackBackend' refuses it: {message}"):
            runtime.load_program(path, backend_options={"xnnpack": options}).load_method("forward")
    runtime.load_program(path).load_method("forward")  # options are of a loading, not of the process


def test_options_are_checked_before_a_program_is_loaded(mlp: bytes):
    load = Runtime.get().load_program
    with pytest.raises(FlambeauError, match=r"^there is no backend 'xnpack'; there are .*xnnpack.*$"):
        load(mlp, backend_options={"xnpack": {"threads": 2}})
    for value in (None, [1], "a\0b"):
        with pytest.raises(FlambeauError, match=r"^option 'threads' of backend 'xnnpack' is a text, a number or a bool, not "):
            load(mlp, backend_options={"xnnpack": {"threads": value}})
    with pytest.raises(FlambeauError, match=r"^the options of backend 'xnnpack' are a dict by name, not 2$"):
        load(mlp, backend_options={"xnnpack": 2})  # pyright: ignore[reportArgumentType]  a mistake


def test_what_is_no_xnnpack_library_is_refused(mlp: bytes):
    libc = ctypes.util.find_library("c")
    with pytest.raises(FlambeauError, match=r"refuses it: libc\.so\.6 is not an XNNPACK library: it has no xnn_initialize$"):
        Runtime.get().load_program(mlp, backend_options={"xnnpack": {"library": libc}}).load_method("forward")


def test_without_a_library_the_message_says_what_to_install(mlp: bytes, tmp_path: Path):
    """The library lies alone in a folder, beside which there is no other package; the dynamic linker finds none either."""
    folder = tmp_path / "flambeau" / "runtime" / "lib"
    folder.mkdir(parents=True)
    (copy := folder / find_library().name).write_bytes(find_library().read_bytes())
    (tmp_path / "mlp.pte").write_bytes(mlp)
    code = f"from flambeau.runtime import Runtime; Runtime.get().load_program({str(tmp_path / 'mlp.pte')!r}).load_method('forward')"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "FLAMBEAU_LIBRARY": str(copy)}, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith(
        "backend 'XnnpackBackend' refuses it: there is no XNNPACK library here: set FLAMBEAU_XNNPACK_LIBRARY to the path of "
        "one, such as libexecutorch_backend_xnnpack.so in the Python package executorch, which flambeau env prints"
    )


def test_the_runner_in_c_finds_the_library_of_its_environment(mlp: bytes, tmp_path: Path):
    (program := tmp_path / "mlp.pte").write_bytes(mlp)
    environment = {name: value for name, value in os.environ.items() if name != "FLAMBEAU_XNNPACK_LIBRARY"}
    elsewhere = shutil.copy(executable(), tmp_path)
    known = {name: str(path) for name, path in library_variables().items()}
    for runner, names, found in ((executable(), {}, True), (elsewhere, {}, False), (elsewhere, known, True)):
        done = subprocess.run([runner, program], env=environment | names, capture_output=True, text=True)
        assert ("there is no XNNPACK library here" not in done.stderr) is found, done.stderr
        assert "takes 1 input" in done.stderr or not found


def test_the_environment_may_name_the_library(mlp: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FLAMBEAU_XNNPACK_LIBRARY", "/nowhere.so")
    with pytest.raises(FlambeauError, match=r"the XNNPACK library cannot be loaded: /nowhere\.so"):
        Runtime.get().load_program(mlp).load_method("forward")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((), True),
        (("-DFLAMBEAU_BACKEND_XNNPACK=OFF",), False),
        (("-DFLAMBEAU_BACKENDS=xnnpack",), True),
        (("-DFLAMBEAU_BACKENDS=",), False),
    ],
)
def test_a_build_chooses_its_backends(settings: tuple[str, ...], expected: bool, tmp_path: Path):
    source = include_folder().parent
    subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "cmake", "-S", source, "-B", tmp_path, "-DFLAMBEAU_TESTS=OFF", *settings],
        check=True,
        capture_output=True,
    )
    assert expected == ("&fl_backend_xnnpack," in (tmp_path / "backend_table.c").read_text())


def test_methods_run_at_once_in_threads(mlp: bytes):
    model, _ = NETS["mlp"]
    program = Runtime.get().load_program(mlp, backend_options={"xnnpack": {"threads": 2}})

    def run(seed: int) -> None:
        method = program.load_method("forward")
        for _ in range(20):
            x = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed))
            with torch.no_grad():
                same(method.execute([x.numpy()]), [model(x)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))


def test_delegates_share_their_threads(mlp: bytes):
    def threads() -> set[str]:
        return {path.name for path in Path("/proc/self/task").iterdir()}

    program = Runtime.get().load_program(mlp, backend_options={"xnnpack": {"threads": 5}})
    before = threads()  # some of which may end meanwhile: they are of other tests
    methods = [program.load_method("forward") for _ in range(3)]
    own = threads() - before
    assert len(own) == 4  # the caller's is the fifth
    methods.pop()
    assert own <= threads()
    methods.clear()
    assert not own & threads()


def test_an_input_without_elements_is_refused():
    model, calls, sizes = DYNAMIC["rows"]
    method = Runtime.get().load_program(stock(model, calls[0], dynamic_shapes=sizes)).load_method()
    with pytest.raises(FlambeauError, match=r"XnnpackBackend: argument 0 has no elements; XNNPACK computes with some"):
        method.execute([np.zeros((0, 8), "float32")])
    assert method.execute([np.zeros((3, 8), "float32")])[0].shape == (3, 4)


def plain_calls() -> list[bytes]:
    """Delegates of stock programs whose sizes change, which are called alone."""
    return [stock(model, calls[0], dynamic_shapes=sizes) for model, calls, sizes in DYNAMIC.values()]


def test_sizes_in_turn_give_what_each_gives_alone(run_guarded: Callable[[list[bytes], int, str], Trials]):
    found = run_guarded(plain_calls(), 60, "sizes")
    assert found.results[0] == 0 and found.results[2] > 60


def test_where_xnnpack_runs_out_of_memory_the_program_is_refused_or_right(run_guarded: Callable[[list[bytes], int, str], Trials]):
    refused_at_load, refused_when_it_ran, ran = run_guarded(plain_calls(), 200, "allocations").results
    assert refused_at_load > 100 and refused_when_it_ran > 0 and ran > 0


CHANGED = ("mlp", "convolutions", "transposed", "average pooling", "padding", "concatenation", "slice", "transpose and reshape", "bmm")


def test_changed_payloads_are_refused_or_run(run_changed: Callable[[list[bytes], int], list[int]]):
    names = drawn([*CHANGED, *DYNAMIC], parts=5)
    programs = [stock(*NETS[name]) for name in names if name in CHANGED]
    programs += [stock(model, calls[0], dynamic_shapes=sizes) for name, (model, calls, sizes) in DYNAMIC.items() if name in names]
    results = run_changed(programs, 1500)
    refused_at_load, refused_when_it_ran, ran = results
    assert sum(results) == 1500 * len(programs) and refused_at_load > 0 and ran > 0, results
    assert refused_when_it_ran > 0 or share().number is not None, results  # only some programs have what is refused so late

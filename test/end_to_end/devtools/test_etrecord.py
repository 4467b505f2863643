"""ETRecords: stock ExecuTorch's Inspector reads ours with our ETDumps, and shows what our Inspector shows."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import executorch.exir
import numpy as np
import pytest
import torch
from executorch.devtools import Inspector as StockInspector
from profiled_models import MODELS
from torch import Tensor, nn

from flambeau import EdgeCompileConfig, generate_etrecord, to_edge, to_edge_transform_and_lower
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.etdump import ETDumpError
from flambeau.runtime.inspector import Inspector, TimeScale
from flambeau.runtime.inspector.etrecord_reader import ETRecordError, read_etrecord

untyped_inspector: Any = StockInspector

untyped: Any = torch

RUNS = 3
BUFFER = 1 << 24


class Repeat(nn.Module):
    """Fused operators, and a loop with branches that computes in the memory of its initial value, their result."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)

    def forward(self, x: Tensor) -> Tensor:
        def goes_on(count: Tensor, _: Tensor) -> Tensor:
            return count < 5

        def grown(x: Tensor) -> Tensor:
            return x * 1.5 - 1

        def waved(x: Tensor) -> Tensor:
            return x.cos() + 2

        def step(count: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return count + 1, untyped.cond(x.sum() > 0, grown, waved, (x,))

        initial = torch.tensor(0), self.norm(self.conv(x) + 3)
        return untyped._higher_order_ops.while_loop(goes_on, step, initial)[1] + 1


def recorded(name: str, folder: Path, target: str = "executorch") -> dict[str, Any]:
    """The ETDump, the ETRecord and the debug buffer of a model, as arguments of an Inspector."""
    factory, backend = (MODELS | {"repeat": (lambda: (Repeat().eval(), (torch.ones(1, 1, 5, 5),)), None)})[name]
    model, inputs = factory()
    exported = torch.export.export(model, inputs)
    config = EdgeCompileConfig(target=target)
    edge = to_edge_transform_and_lower(exported, partitioner=backend, compile_config=config, generate_etrecord=True)
    program = edge.to_executorch()
    paths = {key: str(folder / key) for key in ("etdump_path", "etrecord", "debug_buffer_path")}
    program.get_etrecord().save(paths["etrecord"])
    loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=BUFFER)
    method = loaded.load_method()
    for _ in range(RUNS):
        method.execute(list(inputs))
    loaded.write_etdump_result_to_file(paths["etdump_path"], paths["debug_buffer_path"])
    return paths


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "loop"])
def test_the_stock_inspector_shows_what_ours_shows(name: str, target: str, tmp_path: Path) -> None:
    paths = recorded(name, tmp_path, target)
    theirs, ours = untyped_inspector(**paths), Inspector(**paths)
    for their_block, our_block in zip(theirs.event_blocks, ours.event_blocks, strict=True):
        assert their_block.name == our_block.name
        for event, own in zip(their_block.events, our_block.events, strict=True):
            assert (own.name, own.op_types, own.num_outputs) == (event.name, event.op_types, event.num_outputs)
            assert (own.delegate_backend_name, own.is_delegated_op) == (event.delegate_backend_name, event.is_delegated_op)
            assert list(own.debug_handles or ()) == list(event.debug_handles or ())
            assert list(own.stack_traces.values()) == list(event.stack_traces.values())
            assert [list(found) for found in own.module_hierarchy.values()] == [list(found) for found in event.module_hierarchy.values()]
            assert own.perf_data is not None and own.perf_data.raw == event.perf_data.raw
            assert (own.perf_data.p10, own.perf_data.p90) == pytest.approx((event.perf_data.p10, event.perf_data.p90))
            for array, tensor in zip(own.debug_data, event.debug_data, strict=True):
                np.testing.assert_array_equal(array, tensor.numpy())
    kernels = [event for block in ours.event_blocks for event in block.events if event.name.startswith(("native_call", "DELEGATE"))]
    assert kernels and all(event.debug_data for event in kernels if "prim" not in event.name and event.op_types)
    assert sum(bool(event.op_types) for event in kernels) >= len(kernels) * 0.6


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("name", ["cnn", "transformer", "lstm", "branches", "repeat", "delegate"])
def test_the_stock_inspector_finds_no_numeric_gap(name: str, target: str, tmp_path: Path) -> None:
    table = untyped_inspector(**recorded(name, tmp_path, target)).calculate_numeric_gap("L1")
    assert len(table) >= 1
    gaps = np.concatenate([np.asarray(gap, np.float64).ravel() for gap in table["gap"]])
    sizes = max(float(value.double().abs().sum()) for value in table["aot_intermediate_output"] if isinstance(value, torch.Tensor))
    assert np.isfinite(gaps).all() and gaps.max() < 1e-4 * max(sizes, 1)


def test_modules_and_delegates_are_named(tmp_path: Path) -> None:
    inspector = Inspector(**recorded("delegate", tmp_path), target_time_scale=TimeScale.NS)
    call = next(event for event in inspector.event_blocks[0].events if event.name == "DELEGATE_CALL")
    assert call.delegate_backend_name == "XnnpackBackend"
    assert call.op_types == ["linear.default", "relu.default", "linear.default", "softmax.int"]
    assert read_etrecord(tmp_path / "etrecord").delegates[0]["delegate_map"].keys() == {"0", "1", "2", "3"}
    mean = 0.0 if call.perf_data is None else call.perf_data.avg
    assert inspector.find_total_for_module("L__self__") == mean > 0 == inspector.find_total_for_module("nowhere")


def test_the_table_can_be_printed_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inspector = Inspector(**recorded("cnn", tmp_path))
    inspector.print_data_tabular()
    assert "convolution.out" in (printed := capsys.readouterr().out) and "p50 (ms)" in printed
    with (tmp_path / "table.tsv").open("w") as file:
        inspector.save_data_to_tsv(file)
    head, *rows = (tmp_path / "table.tsv").read_text().splitlines()
    assert head.split("\t")[1] == "event_name" and len(rows) == len(inspector.event_blocks[0].events)


def test_a_record_of_stock_executorch_is_read(tmp_path: Path) -> None:
    model, inputs = MODELS["cnn"][0]()
    untyped: Any = executorch.exir
    program = untyped.to_edge(torch.export.export(model, inputs), generate_etrecord=True).to_executorch()
    program.get_etrecord().save(str(tmp_path / "stock"))
    found = read_etrecord(tmp_path / "stock")
    assert found.handles.keys() == {int(number) for number in program.debug_handle_map["forward"]}
    assert {handle for handles in found.handles.values() for handle in handles} & found.nodes.keys()


@pytest.mark.parametrize("backend", [None, "elementwise"])
def test_a_copy_from_before_stands_for_the_program(tmp_path: Path, backend: str | None):
    """As in ExecuTorch's tutorials, whose `to_executorch` changes the program at the edge level."""
    model, inputs = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), (torch.ones(2, 4),)
    edge = to_edge(torch.export.export(model, inputs), generate_etrecord=True)
    before = copy.deepcopy(edge)
    text, edge = str(edge), edge if backend is None else edge.to_backend(backend)
    program = edge.to_executorch()
    generate_etrecord(tmp_path / "copy.bin", before, program)
    program.get_etrecord().save(tmp_path / "own.bin")
    assert str(before) == text and before.module is not edge.module
    ours, theirs = read_etrecord(tmp_path / "copy.bin"), read_etrecord(tmp_path / "own.bin")
    assert ours.handles and ours.handles == theirs.handles
    (found,) = Runtime.get().load_program(before.to_executorch().buffer).load_method("forward").execute(inputs)
    np.testing.assert_allclose(found, model(*inputs).detach(), rtol=1e-5)


def test_without_a_record_nothing_changes() -> None:
    exported = torch.export.export(nn.Linear(4, 4), (torch.ones(1, 4),))
    plain, with_record = to_edge(exported), to_edge(exported, generate_etrecord=True)
    assert plain.to_executorch().buffer == with_record.to_executorch().buffer
    assert plain.to_executorch().debug_handle_map == {"forward": {}}
    with pytest.raises(ValueError, match=r"say to_edge\(\.\.\., generate_etrecord=True\)"):
        plain.to_executorch().get_etrecord()
    with pytest.raises(ValueError, match="not one that to_executorch of this edge program gave"):
        generate_etrecord("never.bin", plain, with_record.to_executorch())
    assert not Path("never.bin").exists()


def test_wrong_files_are_refused_in_one_line(tmp_path: Path) -> None:
    paths = recorded("cnn", tmp_path)
    for content in (b"", b"PK", Path(paths["etdump_path"]).read_bytes()):
        (tmp_path / "wrong").write_bytes(content)
        with pytest.raises(ETRecordError, match="not an ETRecord"):
            Inspector(etdump_path=paths["etdump_path"], etrecord=tmp_path / "wrong")
    (tmp_path / "short").write_bytes(Path(paths["debug_buffer_path"]).read_bytes()[:10])
    with pytest.raises(
        ETDumpError, match=r"short: native_call_\S+: the debug buffer has 10 bytes, .*: it is cut off, or belongs to another ETDump"
    ):
        Inspector(etdump_path=paths["etdump_path"], debug_buffer_path=tmp_path / "short")
    (tmp_path / "cut.etdp").write_bytes(Path(paths["etdump_path"]).read_bytes()[:100])
    with pytest.raises(ETDumpError, match=r"cut\.etdp: the ETDump is truncated: it has 100 of \d+ bytes"):
        Inspector(etdump_path=tmp_path / "cut.etdp")
    with pytest.raises(ETDumpError, match=r"short: this is not an ETDump: bytes 8 to 11 are not 'ED00'"):
        Inspector(etdump_path=tmp_path / "short")
    (tmp_path / "other").mkdir()
    other = recorded("delegate", tmp_path / "other")["etrecord"]
    text = "of another program: instruction 0 is DELEGATE_CALL there and native_call_.* in the ETDump; give that of the program that ran"
    with pytest.raises(ETRecordError, match=f"other/etrecord: the ETRecord is {text}"):
        Inspector(etdump_path=paths["etdump_path"], etrecord=other)
    with pytest.raises(ValueError, match="one of etdump_path and etdump_data"):
        Inspector()
    with pytest.raises(ValueError, match="times in cycles"):
        Inspector(etdump_path=paths["etdump_path"], source_time_scale=TimeScale.CYCLES)
    with pytest.raises(AttributeError, match="flambeau numerics MODEL --etdump"):
        inspector: Any = Inspector(etdump_path=paths["etdump_path"])
        inspector.calculate_numeric_gap("L1")


def test_values_need_room_and_a_file(tmp_path: Path) -> None:
    model, inputs = MODELS["cnn"][0]()
    program = to_edge(torch.export.export(model, inputs)).to_executorch()
    loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=10)
    loaded.load_method().execute(list(inputs))
    with pytest.raises(FlambeauError, match="more than debug_buffer_size=10: load the program with more"):
        loaded.write_etdump_result_to_file(tmp_path / "a", tmp_path / "b")
    loaded.debug_buffer_size = BUFFER
    with pytest.raises(FlambeauError, match="name a file for them"):
        loaded.write_etdump_result_to_file(tmp_path / "a")
    loaded.write_etdump_result_to_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").stat().st_size > 0

"""ETDumps: stock ExecuTorch's Inspector shows of ours what we show, event by event, and ours reads what stock ExecuTorch wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.devtools import Inspector
from executorch.devtools.etdump import schema_flatcc
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from executorch.devtools.inspector import TimeScale
from profiled_models import MODELS
from runtime_programs import stock

from flambeau import to_edge, to_edge_transform_and_lower
from flambeau.compiler.program_profile import Profile, profile_program
from flambeau.runtime import Event, EventKind, FlambeauError, Runtime
from flambeau.runtime.binding.recorded_runs import event_name, to_etdump
from flambeau.runtime.etdump import ETDumpError, etdump_records, read_etdump, write_etdump

peer: Any = executorch_runtime

RUNS = 4


def profiled(name: str) -> Profile:
    factory, backend = MODELS[name]
    model, inputs = factory()
    exported = torch.export.export(model, inputs)
    edge = to_edge(exported) if backend is None else to_edge_transform_and_lower(exported, partitioner=backend)
    arrays = [tensor.numpy() for tensor in inputs]
    return profile_program(edge.to_executorch().buffer, lambda: [array.copy() for array in arrays], iterations=RUNS)


def ended(run: Sequence[Event]) -> list[Event]:
    return sorted(run, key=lambda event: event.end)


@pytest.mark.parametrize("name", MODELS)
def test_stock_executorch_reads_every_event(name: str) -> None:
    profile = profiled(name)
    dump = deserialize_from_etdump_flatcc(write_etdump(to_etdump(profile.runs)))
    assert [run.name for run in dump.run_data] == ["Execute"] * RUNS
    for run, events in zip(dump.run_data, profile.runs, strict=True):
        read = [item.profile_event for item in run.events or []]
        assert [
            (item.name or item.delegate_debug_id_str, item.instruction_id, item.start_time, item.end_time)
            for item in read
            if item is not None
        ] == [(event_name(event), event.instruction or 0, event.start, event.end) for event in ended(events)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:Output Buffer not found")
def test_the_inspectors_table_is_ours(name: str, tmp_path: Path) -> None:
    profile = profiled(name)
    path = tmp_path / "a.etdp"
    path.write_bytes(write_etdump(to_etdump(profile.runs)))
    (block,) = Inspector(etdump_path=str(path), source_time_scale=TimeScale.NS, target_time_scale=TimeScale.NS).event_blocks
    # Of an instruction that runs again in a run, the Inspector keeps the last time.
    times: dict[tuple[str, int | None], list[int]] = {}
    for run in profile.runs:
        kept = {(event_name(event), event.instruction): event.nanoseconds for event in ended(run)}
        for key, time in kept.items():
            times.setdefault(key, []).append(time)
    shown = [(event.name, vars(event)["_instruction_id"] if event.name != "Method::execute" else None) for event in block.events]
    assert set(shown) == set(times) and len(shown) == len(times)
    for event, key in zip(block.events, shown, strict=True):
        assert event.perf_data is not None and event.perf_data.raw == times[key], key
    rows = {(event_name_of(row.name, profile), (row.instruction or (0, 0))[1]): row for row in profile.rows()}
    if name != "loop":
        for event, key in zip(block.events, shown, strict=True):
            row = profile.times if key[1] is None else rows[key[0], key[1]]
            assert event.perf_data is not None
            assert (event.perf_data.p50, event.perf_data.p90) == pytest.approx((row.p50, row.p90))


def event_name_of(name: str, profile: Profile) -> str:
    return next(event_name(event) for event in profile.runs[0] if event.name == name and event.kind is not EventKind.EXECUTE)


def test_the_delegate_is_called_as_the_inspector_knows_delegates() -> None:
    names = [event_name(event) for event in profiled("delegate").runs[0] if event.kind is not EventKind.OPERATOR]
    assert names == ["Method::execute", "DELEGATE_CALL"]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What stock ExecuTorch writes of a loop, with every value."""
    path = tmp_path_factory.mktemp("etdump") / "a.etdp"
    program = peer.Runtime.get().load_program(stock("map").read_bytes(), enable_etdump=True, debug_buffer_size=1 << 16)
    program.load_method("forward").execute((torch.ones(4, 3), torch.ones(3)))
    program.write_etdump_result_to_file(str(path), str(path.with_suffix(".bin")))
    return path.read_bytes()


def test_what_stock_executorch_wrote_survives(theirs: bytes) -> None:
    ours = read_etdump(theirs)
    assert {event.debug_event is None for run in ours.run_data for event in run.events} == {True, False}
    assert repr(deserialize_from_etdump_flatcc(write_etdump(ours))) == repr(deserialize_from_etdump_flatcc(theirs))


def test_our_events_of_a_program_are_stock_executorchs(theirs: bytes) -> None:
    """But for its `OPERATOR_CALL`, which is the kernel's own event and the call of it, or all there is of a scalar's kernel."""
    profile = profile_program(stock("map").read_bytes(), lambda: [np.ones((4, 3), np.float32), np.ones(3, np.float32)], iterations=1)
    scalar = ("sym_size", "add.Scalar", "eq.Scalar", "sub.Scalar", "et_copy_index")
    ours = [(event_name(event), event.instruction or 0) for event in ended(profile.runs[0])]
    ours = [item for item in ours if not any(part in item[0] for part in scalar)]
    events = [event.profile_event for event in read_etdump(theirs).run_data[-1].events]
    assert ours == [(event.name, event.instruction_id) for event in events if event is not None and event.name != "OPERATOR_CALL"]


def test_a_program_writes_its_etdump_under_executorchs_names(tmp_path: Path) -> None:
    program = Runtime.get().load_program(stock("map"), enable_etdump=True)
    method = program.load_method()
    inputs = [np.ones((4, 3), np.float32), np.ones(3, np.float32)]
    method.execute(inputs)
    method.execute(inputs)
    with pytest.raises(FlambeauError, match="takes 2 inputs"):
        method.execute([])
    assert program.has_etdump()
    program.write_etdump_result_to_file(tmp_path / "a.etdp", tmp_path / "a.bin")
    dump = deserialize_from_etdump_flatcc((tmp_path / "a.etdp").read_bytes())
    assert [len(run.events or []) for run in dump.run_data] == [27, 27]
    program.write_etdump_result_to_file(tmp_path / "a.etdp")
    assert read_etdump((tmp_path / "a.etdp").read_bytes()).run_data == ()
    with pytest.raises(FlambeauError, match="there is no folder"):
        program.write_etdump_result_to_file(tmp_path / "absent" / "a.etdp")
    without = Runtime.get().load_program(stock("map"))
    assert not without.has_etdump()
    with pytest.raises(FlambeauError, match="load the program with enable_etdump=True"):
        without.write_etdump_result_to_file(tmp_path / "a.etdp")


def test_damaged_files_are_refused_in_one_line(theirs: bytes) -> None:
    with pytest.raises(ETDumpError, match=r"^this is not an ETDump"):
        read_etdump(b"no ETDump at all")
    with pytest.raises(ETDumpError, match=rf"^the ETDump is truncated: it has {len(theirs) - 1} of {len(theirs)} bytes"):
        read_etdump(theirs[:-1])
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        changed = bytearray(theirs)
        for at in random.integers(12, len(theirs), 8):
            changed[at] = random.integers(256)
        try:
            read_etdump(changed)
        except ETDumpError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20


def test_the_records_have_the_fields_of_the_release_that_we_know() -> None:
    for name in ("RunData", "Event", "ProfileEvent", "DebugEvent", "AllocationEvent", "Allocator", "Value", "Tensor"):
        theirs, ours = ({field.name for field in fields(getattr(module, name))} for module in (schema_flatcc, etdump_records))
        assert theirs == ours, name

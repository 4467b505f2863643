"""Damaged ETRecords and ETDumps: one documented error in one line, with the file and the place in it. `fuzz/readers.py` draws some."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flambeau.runtime.binding.library import FlambeauError, Status
from flambeau.runtime.bundled_program.bundle_records import BundleError
from flambeau.runtime.etdump import DebugEvent, ETDump, ETDumpError, Event, ProfileEvent, RunData, Tensor, Value, ValueType, write_etdump
from flambeau.runtime.inspector import Inspector, logged_calls
from flambeau.runtime.inspector.etrecord_reader import IDENTIFIER, MOST_VALUES, PROGRAM, ETRecordError, read_etrecord
from flambeau.runtime.pte import PteError
from flambeau.support.one_line import MOST_LETTERS, one_line

NODE = {"target": "torch.ops.aten.add.Tensor", "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {"debug_handle": "1"}}
WHOLE: Mapping[str, Any] = {
    IDENTIFIER: {"forward": {"0": "native_call_add.out", "1": "DELEGATE_CALL"}},
    "debug_handle_map": {"forward": {"0": [1], "1": 2}},
    "delegate_map": {"forward": {"1": {"name": "TestBackend", "delegate_map": {"7": 1, "relu": [1, 2]}}}},
    "instruction_id_to_num_outs_map": {"forward": {"0": 1, "1": 1}},
    f"{PROGRAM}/forward": {"graph_module": {"graph": {"nodes": [NODE]}}},
}


def written(path: Path, texts: Mapping[str, str] | None = None, packing: int = zipfile.ZIP_STORED) -> Path:
    """Writes the whole record, with other texts for some parts."""
    with zipfile.ZipFile(path, "w", packing) as file:
        for name, content in WHOLE.items():
            file.writestr(name, (texts or {}).get(name.partition("/")[0], json.dumps(content)))
    return path


def test_a_whole_record_is_read(tmp_path: Path):
    found = read_etrecord(written(tmp_path / "record"))
    assert found.handles == {0: (1,), 1: (2,)} and found.outputs == {0: 1, 1: 1}
    assert found.delegates == {1: {"name": "TestBackend", "delegate_map": {"7": (1,), "relu": (1, 2)}}}
    assert [(call.name, call.operator) for call in found.nodes[1]] == [("add", "add.Tensor")]
    assert read_etrecord(tmp_path / "record", "other").handles == {}


PARTS = {
    "debug_handle_map: Expecting value": ("debug_handle_map", "[nothing"),
    "debug_handle_map: expected an object, got []": ("debug_handle_map", "[]"),
    "debug_handle_map, method 'forward': expected an object, got 3": ("debug_handle_map", '{"forward": 3}'),
    "debug_handle_map, method 'forward': expected the number of an instruction, got 'a'": ("debug_handle_map", '{"forward": {"a": 3}}'),
    "debug_handle_map, method 'forward', instruction 0: expected a whole number, got None": (
        "debug_handle_map",
        '{"forward": {"0": null}}',
    ),
    "debug_handle_map, method 'forward', instruction 0: expected a whole number, got {}": (
        "debug_handle_map",
        '{"forward": {"0": [{}]}}',
    ),
    "debug_handle_map: maximum recursion depth exceeded": ("debug_handle_map", "[" * 100000),
    "debug_handle_map: Exceeds the limit": ("debug_handle_map", "1" * 5000),
    "instruction_id_to_num_outs_map, method 'forward', instruction 0: expected a whole number, got inf": (
        "instruction_id_to_num_outs_map",
        '{"forward": {"0": 1e999}}',
    ),
    "delegate_map, method 'forward', instruction 1, delegate_map: expected an object, got None": (
        "delegate_map",
        '{"forward": {"1": {"name": "TestBackend"}}}',
    ),
    "delegate_map, method 'forward', instruction 1, name: expected a text, got 3": (
        "delegate_map",
        '{"forward": {"1": {"name": 3, "delegate_map": {}}}}',
    ),
    f"{IDENTIFIER}, method 'forward', instruction 0: expected a text, got ['a\\nb']": (
        IDENTIFIER,
        '{"forward": {"0": ["a\\nb"]}}',
    ),
    f"{PROGRAM}/forward, graph_module: expected an object, got None": (PROGRAM, "{}"),
    f"{PROGRAM}/forward, nodes: expected an array, got None": (PROGRAM, '{"graph_module": {"graph": {}}}'),
    f"{PROGRAM}/forward, node 0, debug_handle: expected a whole number, got []": (
        PROGRAM,
        '{"graph_module": {"graph": {"nodes": [{"target": "add", "metadata": {"debug_handle": []}}]}}}',
    ),
    f"{PROGRAM}/forward, node 0, target: expected a text, got None": (
        PROGRAM,
        '{"graph_module": {"graph": {"nodes": [{"metadata": {"debug_handle": 1}}]}}}',
    ),
}


@pytest.mark.parametrize("message", PARTS)
def test_a_wrong_part_of_a_record_is_named(message: str, tmp_path: Path):
    part, text = PARTS[message]
    with pytest.raises(ETRecordError) as caught:
        read_etrecord(written(tmp_path / "record", {part: text}))
    assert str(caught.value).startswith(f"{tmp_path / 'record'}: the ETRecord is damaged: {message}")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_each_byte_of_an_archive_may_be_wrong(packing: int, tmp_path: Path):
    data = written(tmp_path / "record", packing=packing).read_bytes()
    refused = 0
    for place in range(0, len(data), 7):
        for byte in (0, 255, data[place] ^ 1):
            file = io.BytesIO(data[:place] + bytes([byte]) + data[place + 1 :])
            try:
                read_etrecord(file)
            except ETRecordError as error:
                assert str(error).isprintable()
                refused += 1
    assert refused > len(data) / 7


def test_a_record_that_does_not_exist_is_an_error_of_the_system(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        read_etrecord(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(6, (1,) * 65), "the ETDump has a value of 65 dimensions, more than 16"),
        (Tensor(6, (0, 2**62, 2**62)), "the ETDump has a value of sizes [0, 4611686018427387904, 4611686018427387904] at byte 0"),
        (Tensor(6, (2, -1)), "the ETDump has a value of sizes [2, -1] at byte 0"),
        (Tensor(6, (2,), offset=-1), "the ETDump has a value of sizes [2] at byte -1"),
        (Tensor(6, (2,), offset=64), "the debug buffer has 64 bytes, and the ETDump refers to 8 bytes at 64"),
        (Tensor(99, (2,)), "the ETDump has a value of scalar type 99, which is unknown"),
    ],
)
def test_a_value_that_cannot_be_is_refused(tensor: Tensor, message: str, tmp_path: Path):
    place = Event(profile_event=ProfileEvent("native_call_add.out", 0, 0))
    run = RunData("Execute", events=(place, Event(debug_event=DebugEvent(0, 0, Value(ValueType.TENSOR, tensor)))))
    with pytest.raises(ETDumpError) as caught:
        logged_calls(run, bytes(64))
    assert str(caught.value).startswith(message) and str(caught.value).isprintable()
    (tmp_path / "dump").write_bytes(write_etdump(ETDump(run_data=(run,))))
    (tmp_path / "values").write_bytes(bytes(64))
    with pytest.raises(ETDumpError) as caught:
        Inspector(tmp_path / "dump", debug_buffer_path=tmp_path / "values")
    assert str(caught.value).startswith(f"{tmp_path / 'values'}: native_call_add.out: {message}")


def test_an_empty_debug_buffer_is_cut_off(tmp_path: Path):
    place = Event(profile_event=ProfileEvent("native_call_add.out", 0, 0))
    logged = Event(debug_event=DebugEvent(0, 0, Value(ValueType.TENSOR, Tensor(6, (2,)))))
    run = RunData("Execute", events=(place, logged))
    (tmp_path / "dump").write_bytes(write_etdump(ETDump(run_data=(run,))))
    (tmp_path / "values").touch()
    with pytest.raises(ETDumpError, match=r"values: .*the debug buffer has 0 bytes, and the ETDump refers to 8 bytes at 0"):
        Inspector(tmp_path / "dump", debug_buffer_path=tmp_path / "values")


@pytest.mark.parametrize("sizes", [(0,), (3, 0), (0, 2**30)])
def test_a_value_without_elements_is_read(sizes: tuple[int, ...]):
    run = RunData("Execute", events=(Event(debug_event=DebugEvent(0, 0, Value(ValueType.TENSOR, Tensor(6, sizes)))),))
    for buffer in (b"", bytes(4)):
        (call,) = logged_calls(run, buffer)
        assert call.values[0].shape == sizes and call.values[0].dtype == np.float32


def test_messages_about_files_are_one_line():
    assert one_line("method 'a\nb' über\t\x1b[0m\u2028") == "method 'a\\nb' über\\t\\x1b[0m\\u2028"
    for kind in (PteError, BundleError, ETDumpError, ETRecordError):
        assert str(kind("delegate a\nb")) == "delegate a\\nb"
        assert len(str(kind(f"the name {'a' * MOST_LETTERS} is too long"))) < MOST_LETTERS + 5
    assert str(FlambeauError(Status.NOT_FOUND, "method 'a\x01b'")) == "method 'a\\x01b'"


def test_a_part_of_more_values_than_memory_holds_is_refused_before_it_is_parsed(tmp_path: Path):
    text = f'{{"forward": {{"0": [{"[]," * (MOST_VALUES // 2)}[]]}}}}'
    with pytest.raises(ETRecordError, match=f"debug_handle_map: its {MOST_VALUES + 4} values are more than {MOST_VALUES}"):
        read_etrecord(written(tmp_path / "record", {"debug_handle_map": text}, zipfile.ZIP_DEFLATED))

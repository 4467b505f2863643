"""The store of weights: names, digests, files beside the text."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from flambeau.dialects.ir.blobs import BlobAttr, BlobStore, digest_of
from flambeau.dialects.ir.weight_files import BlobError
from flambeau.runtime.scalar_types import SCALAR_TYPES
from flambeau.support.safetensors import DATA_ALIGNMENT, read_safetensors


def bytes_of(count: int, start: int = 0) -> bytes:
    return bytes((start + index) % 256 for index in range(count))


def test_bytes_are_found_by_key_and_digest() -> None:
    store = BlobStore()
    blob = store.add("w", b"abc")
    assert blob == BlobAttr.get("w", digest_of(b"abc"))
    assert store.get(blob) == b"abc"
    other = store.add("w", b"def")
    assert (store.get(blob), store.get(other)) == (b"abc", b"def")


def test_arrays_are_kept_as_views() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    store = BlobStore()
    kept = store.get(store.add("a", array.data))
    assert np.shares_memory(np.frombuffer(kept, np.float32), array)
    assert kept.readonly
    assert store.get(store.add("empty", np.zeros((0, 3)).data)) == b""


def _length(data: memoryview) -> str:
    return f"{len(data):064x}"


def test_the_bytes_of_a_buffer_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    array, store = np.arange(6, dtype=np.float32), BlobStore()
    blob = store.add("a", array.data)
    monkeypatch.setattr("flambeau.dialects.ir.blobs.sha256_of", _length)
    assert store.add("b", array.reshape(2, 3).data).digest == blob.digest
    assert store.sha256(array[:4].data) == f"{16:064x}"
    assert store.sha256(array[:0].data) == f"{0:064x}"


def test_strided_arrays_are_refused() -> None:
    with pytest.raises(BlobError, match="must be C-contiguous"):
        BlobStore().add("a", np.zeros((4, 4))[:, :2].data)


def test_missing_bytes_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    store = BlobStore()
    store.open_beside(tmp_path / "model.mlir")
    with pytest.raises(BlobError, match=r"there are no weights under 'w'.*model\.safetensors does not exist"):
        store.get(BlobAttr.get("w", "0123456789abcdef"))


def test_other_bytes_than_the_text_says_are_an_error() -> None:
    store = BlobStore()
    store.add("w", b"abc")
    with pytest.raises(BlobError, match=r"the weights under 'w' in memory have digest .* but the module needs 0123456789abcdef"):
        store.get(BlobAttr.get("w", "0123456789abcdef"))


def test_a_saved_file_is_a_safetensors_file_and_comes_back(tmp_path: Path) -> None:
    store = BlobStore()
    single, double, flag = np.arange(4, dtype=np.float32), np.arange(3, dtype=np.float64), np.array([True, False, True])
    blobs = [
        (store.add("single", single.data), "F32", (2, 2)),
        (store.add("double", double.data), "F64", (3,)),
        (store.add("flag", flag.data), "BOOL", (3,)),
    ]
    path = tmp_path / "model.safetensors"
    store.save(path, blobs)
    read = load(path.read_bytes())
    assert np.array_equal(read["single"], single.reshape(2, 2))
    assert np.array_equal(read["double"], double)
    assert np.array_equal(read["flag"], flag)
    again = BlobStore()
    again.open_beside(tmp_path / "model.mlir")
    assert all(again.get(blob) == store.get(blob) for blob, _, _ in blobs)


def test_every_entry_lies_at_a_multiple_of_its_element_size(tmp_path: Path) -> None:
    store = BlobStore()
    entries = [
        (store.add("a", bytes_of(3)), "U8", (3,)),
        (store.add("b", bytes_of(16)), "F64", (2,)),
        (store.add("c", bytes_of(6)), "F16", (3,)),
    ]
    path = tmp_path / "w.safetensors"
    store.save(path, entries)
    file = path.read_bytes()
    length = int.from_bytes(file[:8], "little")
    assert (8 + length) % DATA_ALIGNMENT == 0
    header = json.loads(file[8 : 8 + length])
    sizes = {"U8": 1, "F64": 8, "F16": 2}
    assert header.pop("__metadata__") == {"producer": "flambeau"}
    assert all(entry["data_offsets"][0] % sizes[entry["dtype"]] == 0 for entry in header.values())


def test_weights_of_every_element_type_are_saved(tmp_path: Path) -> None:
    store = BlobStore()
    entries = [(store.add(row.name, bytes_of(3 * row.size)), row.safetensors, (3,)) for row in SCALAR_TYPES]
    path = tmp_path / "w.safetensors"
    store.save(path, entries)
    assert {key: len(data) for key, data in read_safetensors(path).items()} == {row.name: 3 * row.size for row in SCALAR_TYPES}


def test_a_file_can_be_saved_over_itself(tmp_path: Path) -> None:
    store = BlobStore()
    blob = store.add("w", bytes_of(100))
    path = tmp_path / "w.safetensors"
    store.save(path, [(blob, "U8", (100,))])
    mapped = BlobStore()
    mapped.open(path)
    with pytest.raises(BlobError, match="holds the weights of a module that was read"):
        mapped.save(path, [(blob, "U8", (100,))])
    mapped.save(path, [(blob, "U8", (100,))], over_opened=True)
    assert read_safetensors(path)["w"] == bytes_of(100)
    assert [file.name for file in tmp_path.iterdir()] == ["w.safetensors"]


def test_weights_that_others_wrote_are_not_replaced(tmp_path: Path) -> None:
    store = BlobStore()
    entries = [(store.add("w", bytes_of(4)), "U8", (4,))]
    path = tmp_path / "w.safetensors"
    for theirs in (save({"w": np.zeros(4, np.uint8)}, metadata={"format": "pt"}), b"no header"):
        path.write_bytes(theirs)
        with pytest.raises(BlobError, match=r"w\.safetensors exists and was not written by Flambeau: move it away"):
            store.save(path, entries)
        assert path.read_bytes() == theirs
    path.write_bytes(b"")  # a file that someone made room with
    store.save(path, entries)
    assert read_safetensors(path)["w"] == bytes_of(4)


def test_two_contents_under_one_key_do_not_fit_in_a_file(tmp_path: Path) -> None:
    store = BlobStore()
    entries = [(store.add("w", bytes_of(4, start)), "U8", (4,)) for start in (0, 1)]
    with pytest.raises(BlobError, match="two different weights have the key 'w'"):
        store.save(tmp_path / "w.safetensors", entries)


def test_bytes_must_fill_the_shape(tmp_path: Path) -> None:
    store = BlobStore()
    with pytest.raises(BlobError, match=r"have 4 bytes, but F32 of shape \[2\] takes 8"):
        store.save(tmp_path / "w.safetensors", [(store.add("w", bytes_of(4)), "F32", (2,))])
    assert not list(tmp_path.iterdir())


def test_files_of_others_are_read(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    (tmp_path / "x.safetensors").write_bytes(save({"x": array}, metadata={"format": "np"}))
    assert read_safetensors(tmp_path / "x.safetensors")["x"] == array.tobytes()


def header(text: bytes, data: bytes = b"") -> bytes:
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "its header is cut off"),
        (b"\xff" * 8, "its header is cut off"),
        (header(b"{}")[:9], "its header is cut off"),
        (header(b"nonsense"), "its header is not JSON"),
        (header(b"[" * 100_000), "its header is not JSON"),
        (header(b"[1]"), "its header is not an object"),
        (header(b'{"w": 3}'), "the data_offsets of entry 'w' must be within"),
        (header(b'{"w": {"data_offsets": [0, 5]}}', b"abc"), "the data_offsets of entry 'w' must be within"),
        (header(b'{"w": {"data_offsets": [2, 1]}}', b"abc"), "the data_offsets of entry 'w' must be within"),
        (header(b'{"w": {"data_offsets": [-1, 1]}}', b"abc"), "the data_offsets of entry 'w' must be within"),
        (header(b'{"w": {"data_offsets": [0.0, 1]}}', b"abc"), "the data_offsets of entry 'w' must be within"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(BlobError, match=message) as caught:
        BlobStore().open(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BlobError, match=r"cannot open weights .*: No such file or directory"):
        BlobStore().open(tmp_path / "none.safetensors")

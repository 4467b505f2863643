"""Messages of Protocol Buffers: against Google's library, which shares no code with ours, and damaged ones."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.runtime.protobuf import Field, Map, Message, Number, ProtobufError, Record, Scalar, decode, encode

NUMBERS: dict[str, tuple[Number, int, Any]] = {
    "int32": (Number.INT, 5, st.integers(-(2**31), 2**31 - 1)),
    "int64": (Number.INT, 3, st.integers(-(2**63), 2**63 - 1)),
    "uint32": (Number.UINT, 13, st.integers(0, 2**32 - 1)),
    "uint64": (Number.UINT, 4, st.integers(0, 2**64 - 1)),
    "sint64": (Number.ZIGZAG, 18, st.integers(-(2**63), 2**63 - 1)),
    "bool": (Number.BOOL, 8, st.booleans()),
    "float": (Number.FLOAT, 2, st.floats(width=32, allow_nan=False)),
    "double": (Number.DOUBLE, 1, st.floats(allow_nan=False)),
    "fixed32": (Number.FIXED32, 7, st.integers(0, 2**32 - 1)),
    "fixed64": (Number.FIXED64, 6, st.integers(0, 2**64 - 1)),
}
"""By the name of a type in Google's schemas: our kind, the number of theirs, and values."""
TEXTS = {"string": (Scalar.TEXT, 9, st.text()), "bytes": (Scalar.DATA, 12, st.binary())}
SCALARS = {**NUMBERS, **TEXTS}


def _whole() -> Message:
    return WHOLE


_KINDS = {name: kind for name, (kind, _, _) in SCALARS.items()}
_SINGLE = {f"one_{name}": Field(number, kind) for number, (name, kind) in enumerate(_KINDS.items(), 1)}
_CHOSEN = {f"maybe_{name}": Field(number, kind, optional=True) for number, (name, kind) in enumerate(_KINDS.items(), 21)}
_MANY = {f"many_{name}": Field(number, kind, many=True) for number, (name, kind) in enumerate(_KINDS.items(), 41)}
_MORE = {
    "loose": Field(61, Number.INT, many=True, packed=False),
    "inner": Field(62, _whole),
    "inners": Field(63, _whole, many=True),
    "table": Field(64, Map(Scalar.TEXT, _whole)),
    "counts": Field(2047, Map(Number.INT, Scalar.TEXT)),
}
WHOLE = Message("Whole", {**_SINGLE, **_CHOSEN, **_MANY, **_MORE})


def _theirs() -> Any:
    """Makes the class that Google's library has for the same message."""
    file = descriptor_pb2.FileDescriptorProto(name="whole.proto", package="test", syntax="proto3")
    whole = file.message_type.add(name="Whole")
    for prefix, fields in (("one", _SINGLE), ("maybe", _CHOSEN), ("many", _MANY)):
        for name, field in fields.items():
            kind = SCALARS[name.removeprefix(f"{prefix}_")][1]
            declared = whole.field.add(name=name, number=field.number, type=kind, label=3 if prefix == "many" else 1)
            if prefix == "maybe":
                whole.oneof_decl.add(name=f"_{name}")
                declared.proto3_optional, declared.oneof_index = True, len(whole.oneof_decl) - 1
    whole.field.add(name="loose", number=61, type=3, label=3).options.packed = False
    whole.field.add(name="inner", number=62, type=11, label=1, type_name=".test.Whole")
    whole.field.add(name="inners", number=63, type=11, label=3, type_name=".test.Whole")
    for name, number, key, value in (("Table", 64, 9, 11), ("Counts", 2047, 3, 9)):
        entry = whole.nested_type.add(name=f"{name}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=1)
        entry.field.add(name="value", number=2, type=value, label=1, type_name=".test.Whole" if value == 11 else None)
        whole.field.add(name=name.lower(), number=number, type=11, label=3, type_name=f".test.Whole.{name}Entry")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.Whole"))


THEIRS = _theirs()


def _given(inner: Any) -> Any:
    """Returns values of fields by name; `inner` gives those of messages inside."""
    values = {name: value for name, (_, _, value) in SCALARS.items()}
    optional = {f"one_{name}": value for name, value in values.items()} | {f"maybe_{name}": value for name, value in values.items()}
    optional |= {f"many_{name}": st.lists(value, max_size=3) for name, value in values.items()}
    integers = NUMBERS["int64"][2]
    optional |= {"loose": st.lists(integers, max_size=3), "inner": inner, "inners": st.lists(inner, max_size=2)}
    optional |= {"table": st.dictionaries(st.text(), inner, max_size=2), "counts": st.dictionaries(integers, st.text(), max_size=2)}
    return st.fixed_dictionaries({}, optional=optional)


_EMPTY: dict[str, Any] = {}
VALUES = _given(_given(st.just(_EMPTY)))


def _record(values: dict[str, Any]) -> Record:
    """Returns our record of fields."""
    made = dict(values)
    if "inner" in values:
        made["inner"] = _record(values["inner"])
    made["inners"] = [_record(item) for item in values.get("inners", ())]
    made["table"] = {key: _record(item) for key, item in values.get("table", {}).items()}
    return WHOLE.record(**made)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_google_s_library_reads_what_is_written_and_writes_what_is_read(values: dict[str, Any]) -> None:
    data = encode(WHOLE, _record(values))
    theirs = THEIRS.FromString(data)
    assert theirs == THEIRS(**values)
    back = decode(WHOLE, memoryview(theirs.SerializeToString(deterministic=True)), "the data")
    assert THEIRS.FromString(encode(WHOLE, back)) == theirs
    again = decode(WHOLE, memoryview(data), "the data")
    assert encode(WHOLE, again) == data


def test_data_is_not_copied() -> None:
    message = Message("Holder", {"data": Field(1, Scalar.DATA)})
    data = encode(message, message.record(data=memoryview(struct.pack("<3I", 1, 2, 3)).cast("I")))
    found: memoryview = decode(message, memoryview(data), "the data").data
    assert found.obj is data and bytes(found) == struct.pack("<3I", 1, 2, 3)


SMALL = Message("Small", {"number": Field(1, Number.INT), "flag": Field(2, Number.BOOL), "name": Field(3, Scalar.TEXT)})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x08", "number at byte 1"),
        (b"\x08" + b"\xff" * 10 + b"\1", "does not end"),
        (b"\x08" + b"\xff" * 9 + b"\x7f", "does not end"),
        (b"\x08\1\x08\2", "Small.number stands twice"),
        (b"\x09" + bytes(8), "wire type 1, not 0"),
        (b"\x0b", "wire type 3"),
        (b"\x00\1", "number 0"),
        (b"\x10\2", "neither true nor false"),
        (b"\x1a\5abc", "5 bytes at byte 2"),
        (b"\x1a\1\xff", "not UTF-8"),
        (b"\x20\1", "field 4, which is not known"),
    ],
)
def test_damaged_bytes_are_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(ProtobufError, match=why):
        decode(SMALL, memoryview(data), "the data")


def test_fields_of_later_schemas_are_skipped_where_that_is_wanted() -> None:
    data = b"\x20\1\x08\5\x2a\1x\x35abcd"
    assert decode(SMALL, memoryview(data), "the data", skips_unknown=True) == SMALL.record(number=5)


def test_messages_do_not_stand_in_more_than_a_hundred_others() -> None:
    record = WHOLE.record()
    for _ in range(101):
        record = WHOLE.record(inner=record)
    with pytest.raises(ProtobufError, match="more than 100 messages"):
        decode(WHOLE, memoryview(encode(WHOLE, record)), "the data")


def test_a_key_of_a_table_stands_once() -> None:
    one = encode(WHOLE, WHOLE.record(counts={1: "a"}))
    with pytest.raises(ProtobufError, match="the key 1 twice"):
        decode(WHOLE, memoryview(one + one), "the data")


@pytest.mark.parametrize(
    ("field", "value"),
    [("one_int64", 2**63), ("one_uint64", -1), ("one_bool", 2), ("one_int64", 0.5), ("one_string", 5), ("one_fixed32", -1)],
)
def test_values_that_the_format_cannot_hold_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ProtobufError, match=f"Whole.{field} cannot be {value}"):
        encode(WHOLE, WHOLE.record(**{field: value}))


def test_a_record_has_only_fields_of_its_message() -> None:
    with pytest.raises(TypeError, match="Small has no fields other"):
        SMALL.record(other=1)
    with pytest.raises(AttributeError, match="no field 'other'"):
        _ = SMALL.record().other


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        record = decode(WHOLE, memoryview(data), "the data")
    except ProtobufError:
        return
    assert decode(WHOLE, memoryview(encode(WHOLE, record)), "the data") == record or "nan" in repr(record)

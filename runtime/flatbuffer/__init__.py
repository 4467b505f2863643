"""Reads and writes FlatBuffers formats whose tables are data, without code generated from schemas."""

from flambeau.runtime.flatbuffer.decoder import Decoder
from flambeau.runtime.flatbuffer.encoder import Encoder
from flambeau.runtime.flatbuffer.kinds import (
    Data,
    FlatbufferError,
    Kind,
    OneOf,
    Ref,
    Refs,
    Scalar,
    Scalars,
    Table,
    Text,
    Texts,
    Union,
)

__all__ = [
    "Data",
    "Decoder",
    "Encoder",
    "FlatbufferError",
    "Kind",
    "OneOf",
    "Ref",
    "Refs",
    "Scalar",
    "Scalars",
    "Table",
    "Text",
    "Texts",
    "Union",
]

"""Reads and writes formats of Protocol Buffers whose messages are data, without code generated from schemas."""

from flambeau.runtime.protobuf.message_decoder import decode
from flambeau.runtime.protobuf.message_encoder import encode, pieces
from flambeau.runtime.protobuf.message_kinds import Field, Map, Message, Number, ProtobufError, Record, Scalar

__all__ = ["Field", "Map", "Message", "Number", "ProtobufError", "Record", "Scalar", "decode", "encode", "pieces"]

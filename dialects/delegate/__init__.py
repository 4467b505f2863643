"""Partitions of a method that backends take, and what the backends made of them."""

from xdsl.ir import Dialect

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, PayloadOp, ReturnOp

DIALECT = Dialect("delegate", [PartitionOp, ReturnOp, CallOp, PayloadOp], [])

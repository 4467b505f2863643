"""The `delegate` dialect: the partitions of a method that backends compile, their payloads, and calls of both."""

from xdsl.ir import Dialect

from flambeau.dialects.delegate.ops import CallOp, PartitionOp, PayloadOp, ReturnOp

DIALECT = Dialect("delegate", [PartitionOp, ReturnOp, CallOp, PayloadOp], [])

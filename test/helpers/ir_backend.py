"""A plug-in: the backend `ir` takes everything, and its payloads are the text of partitions: it shows what the frame makes of them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, f64

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.edge.stored_arrays import stored_array
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.tensor_types import tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import level_ops
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import Backend, BackendError, BackendOptions, Encoded, one_by_one
from flambeau.passes.rewriting.constants import ModuleConstants


def _encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    module, named = ModuleOp([partition.clone()]), dict[str, bytes]()
    for op in partition.body.walk():
        source = constants.global_of(op.result) if isinstance(op, GlobalLoadConstantOp) else None
        array = None if source is None else constants.array(op.results[0])
        if source is not None and array is not None and (key := _key(source)) not in named:
            named[key] = stored_array(array, tensor_type(source.type)).tobytes()
            module.body.block.insert_op_before(source.clone(), module.body.block.first_op or partition)
    return Encoded(print_module(module).encode(), named)


def _key(source: GlobalOp) -> str:
    assert isinstance(source.value, BlobAttr)
    return f"{source.sym_name.data}.{source.value.digest.data}"


def _decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    try:
        module = parse_module(bytes(data).decode(), FlambeauContext()).module
        module.verify()
        for op in module.body.block.ops:
            if isinstance(op, GlobalOp):
                blobs.add(op.sym_name.data, named_data[_key(op)])
    except Exception as error:
        raise BackendError(f"ir payload: {' '.join(str(error).split())}") from error
    if sum(isinstance(op, PartitionOp) for op in module.body.block.ops) != 1:
        raise BackendError("ir payload: it is not one partition")
    return module


_RULES = {kind.schema.name: Rule() for kind in level_ops("edge") if not kind.random}
BACKEND = Backend("ir", "IrBackend", OperatorTable(_RULES, Limit(dtypes=(f32, f16, bf16, f64))), one_by_one(_encode), decode=_decode)

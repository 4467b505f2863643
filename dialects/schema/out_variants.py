"""Finds the out-variant of an operator: the overload that writes to arguments, whose name and arguments the runtime's kernel has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from flambeau.dialects.schema.operators import schema_table
from flambeau.dialects.schema.row_table import ROWS, cached_over_rows
from flambeau.dialects.schema.schema import Schema, SchemaArgument, parse_schema

TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
"""Arguments of factories that out-variants do not have, because the out tensor gives them."""


def _signature(schema: Schema) -> list[tuple[str, str, bool]]:
    return [(a.name, a.type.base, a.type.is_list) for a in schema.arguments if a not in schema.outs]


@cache
def out_variant(schema: Schema) -> Schema | None:
    """Returns the out-variant of a functional schema; None when PyTorch declares none.

    In ATen's schema table it is found by its signature. In other namespaces its name follows ATen's rule, `linear` -> `linear.out`,
    `x.y` -> `x.y_out`, unless the row says another overload. The kernel of one that writes to arguments has its name, unless it has
    other results too.
    """
    if schema.kernel is not None:
        return schema.kernel
    if schema.namespace != "aten":
        return _derived(schema)
    wanted = _signature(schema)
    without_options = [item for item in wanted if item[0] not in TENSOR_OPTIONS]
    candidates = [parse_schema(text) for text in schema_table().get(schema.base, ()) if "!" in text]
    for signature in (wanted, without_options):
        for candidate in candidates:
            if candidate.outs and _signature(candidate) == signature and len(candidate.returns) <= max(len(schema.returns), 1):
                return candidate
    return None


@cached_over_rows
def writing_kernels() -> dict[str, Schema]:
    """Returns the kernels of plug-ins' operators that write to arguments, by qualified name."""
    schemas = [row.schema.kernel for rows in ROWS.values() for row in rows.values() if "schema" in vars(row) and row.schema.kernel]
    return {schema.qualified_name: schema for schema in schemas}


def _derived(schema: Schema) -> Schema:
    outs = tuple(
        SchemaArgument("out" if len(schema.returns) == 1 else f"out{index}", replace(kind, mutated=True), keyword_only=True)
        for index, kind in enumerate(schema.returns)
    )
    # The out stands for all of a tensor's options; a dtype alone is an argument like others.
    has_all = {argument.name for argument in schema.arguments if argument.keyword_only} >= TENSOR_OPTIONS
    kept = tuple(argument for argument in schema.arguments if not has_all or argument.name not in TENSOR_OPTIONS)
    overload = schema.out_overload or (f"{schema.overload}_out" if schema.overload else "out")
    return Schema(schema.namespace, schema.base, overload, (*kept, *outs), tuple(out.type for out in outs))

"""Reads and writes the bytes of a `.bpte`. The reader never reads outside of the given bytes, and copies none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flambeau.runtime.binding.metadata import DTYPE_NAMES
from flambeau.runtime.bundled_program import bundle_records as schema
from flambeau.runtime.bundled_program.bundle_records import BundledProgram, BundleError, Tensor, Value
from flambeau.runtime.flatbuffer import Decoder, Encoder
from flambeau.runtime.pte.bundled import BUNDLED_IDENTIFIER, is_bundled
from flambeau.runtime.pte.records import EMPTY

if TYPE_CHECKING:
    from typing_extensions import Buffer


def is_bundled_program(data: Buffer) -> bool:
    """Returns whether bytes begin like a `.bpte`."""
    return is_bundled(data)


def write_bundled_program(bundle: BundledProgram) -> bytes:
    """Returns the bytes of a `.bpte` with these records. Raises BundleError for numbers and texts that the format cannot hold."""
    return Encoder(schema.BUNDLED_PROGRAM, BUNDLED_IDENTIFIER, BundleError).encode(bundle)


def read_bundled_program(data: Buffer) -> BundledProgram:
    """Returns the records of a `.bpte`, with views of `data`. Does not check the program in it.

    Raises:
        BundleError: the bytes are not a bundled program, are damaged, or have another version.
    """
    file = memoryview(data).toreadonly()
    file = file.cast("B") if file.nbytes else EMPTY
    if len(file) < 8:
        raise BundleError(f"not a bundled program: it has {len(file)} bytes, fewer than its first fields take")
    if not is_bundled_program(file):
        kind = "a .pte program without test cases, " if bytes(file[4:6]) == b"ET" else ""
        raise BundleError(f"not a bundled program: {kind}bytes 4 to 7 are {bytes(file[4:8])!r}, not {BUNDLED_IDENTIFIER!r}")
    bundle = cast(BundledProgram, Decoder(file, "the bundled program", BundleError).root(schema.BUNDLED_PROGRAM))
    if bundle.version > (newest := schema.BUNDLED_PROGRAM_SCHEMA_VERSION):
        raise BundleError(f"the bundled program has format version {bundle.version}; {newest} is the newest one known")
    for suite in bundle.method_test_suites:
        for number, case in enumerate(suite.test_cases):
            for kind, values in (("input", case.inputs), ("expected output", case.expected_outputs)):
                for index, value in enumerate(values):
                    _check(value, f"method {suite.method_name!r}, test case {number}, {kind} {index}")
    return bundle


def _check(value: Value, where: str) -> None:
    if not isinstance(value, Tensor):
        return
    if value.scalar_type not in DTYPE_NAMES:
        raise BundleError(f"{where}: tensors of {value.scalar_type.name} cannot be read")
    if any(extent < 0 for extent in value.sizes):
        raise BundleError(f"{where}: the tensor has a negative size: {list(value.sizes)}")
    if sorted(value.dim_order) != list(range(len(value.sizes))):
        raise BundleError(f"{where}: the dim order {list(value.dim_order)} is not one of {len(value.sizes)} dimensions")
    # ExecuTorch writes the whole storage of a tensor, which may be larger than the tensor.
    if len(value.data) < value.nbytes:
        raise BundleError(f"{where}: the tensor takes {value.nbytes} bytes, and has {len(value.data)}")

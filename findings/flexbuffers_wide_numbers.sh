#!/usr/bin/env bash
# FlexBuffers in Python refuse numbers that the format holds: floats beyond float32, integers from 2 ** 63
#
# The package flatbuffers brings FlexBuffers, a format without a schema. Its Dumps looks for the smallest width of each float by packing it as a
# float32, which raises OverflowError for a number like 1e300; and of integers it knows only signed ones, so 2 ** 63 is refused in a message about
# twice that number. The builder's own methods for both widths exist: UInt writes 2 ** 63, which Loads reads.
#
# Expected: numbers have the smallest width of up to 64 bits that they fit in: https://google.github.io/flatbuffers/flexbuffers
# Seen: OverflowError for 1e300, ValueError for 2 ** 63; both numbers fit in 64 bits.
. "$(dirname "$0")/common.sh"
use flatbuffers==25.12.19

observe <<'PYTHON'
import sys

from flatbuffers import flexbuffers


def with_method(name, number):
    builder = flexbuffers.Builder()
    getattr(builder, name)(number)
    return builder.Finish()


def outcome(write):
    try:
        return flexbuffers.Loads(write())
    except (OverflowError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


seen = {
    "Dumps(1e38)": outcome(lambda: flexbuffers.Dumps(1e38)),
    "Dumps(1e300)": outcome(lambda: flexbuffers.Dumps(1e300)),
    "Dumps(2 ** 62)": outcome(lambda: flexbuffers.Dumps(2**62)),
    "Dumps(2 ** 63)": outcome(lambda: flexbuffers.Dumps(2**63)),
    "Builder.UInt(2 ** 63)": outcome(lambda: with_method("UInt", 2**63)),
}
for name, found in seen.items():
    print(f"{name}: expected the number, seen {found}")
kinds = [found if isinstance(found, (int, float)) else found.partition(":")[0] for found in seen.values()]
described = [1e38, "OverflowError", 2**62, "ValueError", 2**63]
sys.exit(None if kinds == described else f"changed: the outcomes are now {kinds}")
PYTHON

"""The walk of test_kernels_of_rows.py over the rows of some operators only: the same cases, of the same share of rows.

PYTHONPATH=test:test/helpers:test/suite python test/campaigns/near_rows.py aten.flip quantized_decomposed.add
"""

from __future__ import annotations

import sys

import dynamic_rows
from row_walk import walk
from shares import drawn
from unit.kernels.test_kernels_of_rows import NAMES, SHARE


def main() -> int:
    """Prints what disagrees; returns whether anything does."""
    operators = sys.argv[1:]
    wanted = {name for name in NAMES if any(f"{name}.".startswith(f"{operator}.") for operator in operators)}
    names = [name for name in drawn(NAMES) if name in wanted]
    dynamic = [name for name in drawn(name for name in NAMES if name not in dynamic_rows.UNDECIDED) if name in wanted]
    found = [str(each) for each in walk(names, SHARE).unknown()]
    found += dynamic_rows.walk(dynamic, "outermost", samples=1).disagreements
    for disagreement in found:
        print(f"disagrees: {disagreement}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

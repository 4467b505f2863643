"""Runs of elementwise float32 operators as one pass over the elements; README.md in this folder says more."""

from flambeau.backends.elementwise.lower import lower
from flambeau.backends.elementwise.payload import execute
from flambeau.backends.elementwise.taken_operators import MOST_OPERATIONS, absorbs, refuse
from flambeau.passes.delegation.interface import Backend

BACKEND = Backend(
    "elementwise",
    "FlambeauElementwise",
    refuse=refuse,
    absorbs=absorbs,
    encode=lower,
    execute=execute,
    least=2,
    most=MOST_OPERATIONS,
)

"""The backend `abacus`: a device that computes with block fixed-point numbers, here in C; README.md says more."""

from pathlib import Path

from flambeau.passes.delegation.interface import Backend, one_by_one

from .legality import TABLE
from .lower import convert
from .payload import decode, encode

BACKEND = Backend(
    "abacus",
    "AbacusBackend",
    table=TABLE,
    convert=convert,
    encode=one_by_one(encode),
    decode=decode,
    library=Path(__file__).with_name("libabacus.so"),
)

"""The samples of the operators of our dialects, found by listing this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import numpy as np

import flambeau.tools.samples
from flambeau.dialects.aten.aliases import ALIASES
from flambeau.dialects.schema.row import SchemaOp
from flambeau.tools.samples.sample_generators import Samples


@cache
def all_samples() -> dict[str, Samples]:
    """Returns the samples of every `*_samples.py` in this folder, by full operator name.

    An alias without samples has those of its operator.
    """
    found: dict[str, Samples] = {}
    for module in pkgutil.iter_modules(flambeau.tools.samples.__path__):
        if module.name.endswith("_samples"):
            found |= importlib.import_module(f"{flambeau.tools.samples.__name__}.{module.name}").SAMPLES
    return {f"aten.{schema.partition('(')[0]}": found[f"aten.{name}"] for schema, name in ALIASES} | found


def bound_samples(samples: Samples, kind: type[SchemaOp], seed: int = 0) -> list[tuple[Any, ...]]:
    """Returns the samples of an operator that a seed gives, with defaults for the arguments that they leave out."""
    defaults = [argument.default for argument in kind.schema.arguments]
    return [(*sample, *defaults[len(sample) :]) for sample in samples(np.random.default_rng(seed))]

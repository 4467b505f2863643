"""The reducers, in the order in which they are tried: those that remove most come first."""

from __future__ import annotations

from typing import Any

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.tools.reduction.reducer import Reducer
from flambeau.tools.reduction.reducers.reduce_attributes import SIMPLER, AttributesReducer, ValuesReducer
from flambeau.tools.reduction.reducers.reduce_calls import CallsReducer
from flambeau.tools.reduction.reducers.reduce_constants import ZerosReducer
from flambeau.tools.reduction.reducers.reduce_operations import (
    ArgumentsReducer,
    BypassReducer,
    CutOperationsReducer,
    DeadCodeReducer,
    OperandsReducer,
    ResultsReducer,
)
from flambeau.tools.reduction.reducers.reduce_regions import BranchesReducer, InlineRegionsReducer
from flambeau.tools.reduction.reducers.reduce_shapes import STEPS, DimensionsReducer, SizesReducer
from flambeau.tools.reduction.reducers.reduce_symbols import BodiesReducer, SymbolsReducer
from flambeau.tools.reduction.reducers.reduce_texts import LocationsReducer, NamesReducer
from flambeau.tools.reduction.reducers.reduce_weights import WeightsReducer


def all_reducers(blobs: BlobStore) -> list[Reducer[Any]]:
    """Returns every reducer, for modules whose weights are in `blobs`."""
    return [
        SymbolsReducer(),
        BodiesReducer(),
        CallsReducer(),
        CutOperationsReducer(),
        ResultsReducer(),
        SymbolsReducer(),
        DeadCodeReducer(),
        BypassReducer(),
        ZerosReducer(blobs),
        BranchesReducer(),
        InlineRegionsReducer(),
        OperandsReducer(),
        ArgumentsReducer(),
        AttributesReducer(),
        *(SizesReducer(blobs, step) for step in STEPS),
        *(DimensionsReducer(blobs, step) for step in STEPS),
        *(ValuesReducer(simpler) for simpler in SIMPLER),
        WeightsReducer(blobs, 0),
        WeightsReducer(blobs, 1),
        LocationsReducer(),
        NamesReducer(),
    ]

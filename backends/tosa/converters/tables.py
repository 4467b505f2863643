"""Functions of each element between integers, as tables: of 256 results for int8, of lines between 513 of them for int16."""

from __future__ import annotations

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, limited, quantized
from flambeau.backends.tosa.dialect.elements import TableOp
from flambeau.backends.tosa.legality import FUNCTIONS
from flambeau.passes.analysis.quantized_types import IntegerOperator
from flambeau.passes.delegation.interface import RefusedError
from flambeau.passes.delegation.lowering.lines import check_lines, exact_results
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

_LEAST, _DISTANCE, _STEEPEST = -(2**15), 2**7, 2**15 - 1


@CONVERTERS.integers(*FUNCTIONS)
def _function(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    if found.x.type.storage == i8:
        return TableOp(found.x.value, found.table()).result
    return limited(quantized(TableOp(found.x.value, _entries(found)).result, 1 / _DISTANCE, found.to), found)


def _entries(found: IntegerOperator) -> tuple[int, ...]:
    """Returns the results, before clamps, for every 128th int16. Raises RefusedError where the lines between them are too far away."""
    places = np.arange(_LEAST, -_LEAST + 1)
    exact = exact_results(found, places)
    entries = exact[::_DISTANCE]
    assert found.operator is not None
    if np.abs(np.diff(entries)).max() > _STEEPEST:
        raise RefusedError({found.operator: "neighbours in its table of int16 would differ by more than 32767"})
    table = tuple(int(item) for item in entries)
    check_lines(found, (TableOp.numpy(places[:-1].astype(np.int16), table) + _DISTANCE // 2) // _DISTANCE, exact[:-1])
    return table

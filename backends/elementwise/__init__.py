"""Computes groups of elementwise float32 operators in one pass over the elements; see README.md in this folder."""

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, BackendOptions, Description, State, one_by_one
from flambeau.support.lazy import later


@dataclass(frozen=True)
class ElementwiseOptions(BackendOptions):
    """The options of the backend. `least` is 2, because the CPU's kernels run a single operator in one loop already."""

    least: int = 2

    @property
    def only_here(self) -> str | None:
        """The backend is ours."""
        return "it has no such backend"


BACKEND = Backend(
    "elementwise",
    "FlambeauElementwise",
    table=later("flambeau.backends.elementwise.legality:table"),
    encode=one_by_one(later("flambeau.backends.elementwise.program:encode")),
    decode=later("flambeau.backends.elementwise.program:decode"),
    options=ElementwiseOptions,
    description=Description(
        hardware="any CPU",
        platform="any",
        choose="an example for authors of backends, which joins runs of elementwise float32 operators",
        runtimes="Flambeau's runtime",
        state=State.REFERENCE,
    ),
)

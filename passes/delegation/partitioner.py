"""A backend, and what its user asks of it: ExecuTorch's `Partitioner`, made from the name of a `Backend`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from flambeau.support.executorch_names import ExplainsMembers, explains_arguments


@dataclass(frozen=True)
class CompileSpec:
    """An option of a backend, which its compiler finds on the partition, and its runtime with the payload."""

    key: str
    value: bytes | str

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value if isinstance(self.value, str) else self.value.decode(errors="replace")


@explains_arguments
@dataclass(frozen=True)
class Partitioner(ExplainsMembers):
    """A backend that takes operators, and its options.

    Attributes:
        backend: its name.
        compile_specs: its options.
    """

    backend: str
    compile_specs: Sequence[CompileSpec] = ()

    def __post_init__(self) -> None:
        keys: set[str] = set()
        for spec in cast("Sequence[object]", self.compile_specs):
            if not isinstance(spec, CompileSpec):
                raise TypeError(f"compile_specs is a list of flambeau.CompileSpec, and holds {spec!r}")
            if spec.key in keys:
                raise ValueError(f"compile_specs has {spec.key!r} twice")
            keys.add(spec.key)

"""The choices of a user between targets and backends."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.passes.delegation.interface import Backend, backend_names, find_backend
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target, target_names

OWN_TARGET = "flambeau"
"""The target of programs that only Flambeau's runtime runs anyway."""


@dataclass(frozen=True)
class TargetChoice:
    """A target alone, or a backend on the target that suits it.

    Attributes:
        target: the name of the target.
        backend: the backend that takes operators; None for none.
    """

    target: str
    backend: Backend | None = None

    @property
    def options(self) -> str:
        """The options of commands that choose it."""
        return f"--target {self.target}" + ("" if self.backend is None else f" --backend {self.backend.name}")

    @property
    def hardware(self) -> str:
        """What computes; empty if unknown."""
        if self.backend is None:
            return find_target(self.target).hardware
        return "" if self.backend.description is None else self.backend.description.hardware

    @property
    def state(self) -> str:
        """How far its programs are tried here; empty if unknown."""
        if self.backend is None:
            return "runs here"
        return "" if self.backend.description is None else self.backend.description.state.value


def target_choices() -> tuple[TargetChoice, ...]:
    """Returns every target alone, then every backend on the target that suits it.

    That is ExecuTorch's where ExecuTorch runs the backend's payloads too, else our own, whose other operators are faster.
    """
    backends = map(find_backend, backend_names())
    suits = ((PipelineOptions.target if backend.options().only_here is None else OWN_TARGET, backend) for backend in backends)
    return (*map(TargetChoice, target_names()), *(TargetChoice(target, backend) for target, backend in suits))

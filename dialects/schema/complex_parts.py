"""Complex tensors as their real and imaginary parts, which a row's `on_parts` takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Parts:
    """A complex tensor, as two real tensors of the same type."""

    real: SSAValue
    imaginary: SSAValue | None
    """None: all are 0."""

    @property
    def both(self) -> tuple[SSAValue, SSAValue]:
        """Two tensors. Raises ValueError where the imaginary one is not there."""
        if self.imaginary is None:
            raise ValueError("the tensor has no imaginary part")
        return self.real, self.imaginary

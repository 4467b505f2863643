"""Recipes: the quantization schemes that a user selects for the operators of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from flambeau.frontends.quantization_choices import FLOAT, RecipeError, Scheme, check_scheme
from flambeau.support.suggestions import did_you_mean


@dataclass(frozen=True)
class Recipe:
    """A scheme for a whole program, and overrides for parts of it.

    `Recipe("int8", {"head": "float", "layer_norm": "float"})`: a key is the path of a module, including its submodules, or the
    name of an operator: `softmax`, `add.Tensor`, `aten.add.Tensor`. If several keys fit an operator, the last key decides.
    """

    scheme: Scheme = "int8"
    overrides: Mapping[str, Scheme] = field(default_factory=dict[str, Scheme])

    def __post_init__(self) -> None:
        for scheme in (self.scheme, *self.overrides.values()):
            check_scheme(str(scheme))

    def scheme_of(self, names: Set[str]) -> tuple[Scheme, str | None]:
        """Returns the scheme of an operator with these names, and the override that selects it, or None."""
        text = next((text for text in reversed([*self.overrides]) if text in names), None)
        return (self.scheme, None) if text is None else (self.overrides[text], text)

    def check(self, names: Iterable[Set[str]]) -> None:
        """Raises RecipeError for an override that fits no operator with these names and would have no effect."""
        known = {name for item in names for name in item}
        for text, scheme in self.overrides.items():
            if text not in known:
                what = "no operator of the program is in a module of this path, or has this name"
                keeps = "keeps nothing in floats" if scheme == FLOAT else "changes nothing"
                raise RecipeError(f"{text!r} {keeps}: {what}{did_you_mean(text, known)}")

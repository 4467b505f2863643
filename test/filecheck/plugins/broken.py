"""A plug-in that fails."""

from flambeau.passes.kit import op

Twice = op("aten.twize")

"""The `torchvision` dialect: operators of torchvision's detection models, which are decomposed to those of ATen."""

from xdsl.ir import Dialect

DIALECT = Dialect("torchvision", [], [])

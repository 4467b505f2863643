"""The groups of options, in the order of `--help`."""

from flambeau.tools.opt.option_group import OptionGroup

GROUPS: tuple[OptionGroup, ...] = ()

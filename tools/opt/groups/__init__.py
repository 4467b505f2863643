"""The groups of options, in the order of `--help`.

Their instrumentations run in this order too, so those that measure time come last: nobody's work is then taken for that of the passes. What
may stop the pipeline stands behind what writes about failures.
"""

from flambeau.tools.opt.groups.actions import ActionsGroup, DebugCounterGroup
from flambeau.tools.opt.groups.diagnostics import DiagnosticsGroup
from flambeau.tools.opt.groups.interop import InteropGroup
from flambeau.tools.opt.groups.irdl import IrdlGroup
from flambeau.tools.opt.groups.plugins import PluginsGroup
from flambeau.tools.opt.groups.printing import PrintingGroup
from flambeau.tools.opt.groups.reproducer import ReproducerGroup
from flambeau.tools.opt.groups.semantics import SemanticsGroup
from flambeau.tools.opt.groups.statistics import StatisticsGroup
from flambeau.tools.opt.groups.timing import TimingGroup
from flambeau.tools.opt.option_group import OptionGroup

GROUPS: tuple[OptionGroup, ...] = (
    PluginsGroup(),
    IrdlGroup(),
    DiagnosticsGroup(),
    PrintingGroup(),
    InteropGroup(),
    ReproducerGroup(),
    SemanticsGroup(),
    DebugCounterGroup(),
    StatisticsGroup(),
    ActionsGroup(),
    TimingGroup(),
)

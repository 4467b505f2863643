"""The groups of options, in the order of `--help`.

Their instrumentations run in this order too, so those that measure time come last: nobody's work is then taken for that of the passes. What
may stop the pipeline stands behind what writes about failures.
"""

from flambeau.tools.opt.groups.action_options import ActionsGroup, DebugCounterGroup
from flambeau.tools.opt.groups.diagnostic_options import DiagnosticsGroup
from flambeau.tools.opt.groups.interop_options import InteropGroup
from flambeau.tools.opt.groups.irdl_options import IrdlGroup
from flambeau.tools.opt.groups.plugin_options import PluginsGroup
from flambeau.tools.opt.groups.printing_options import PrintingGroup
from flambeau.tools.opt.groups.reproducer_options import ReproducerGroup
from flambeau.tools.opt.groups.semantics_options import SemanticsGroup
from flambeau.tools.opt.groups.statistics_options import StatisticsGroup
from flambeau.tools.opt.groups.timing_options import TimingGroup
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

"""The groups of options, in the order of `--help`.

Their instrumentations run in this order too, so those that measure time come last, and the work of the rest is not attributed to
passes. Those that may stop the pipeline come after the writers of failure reports.
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

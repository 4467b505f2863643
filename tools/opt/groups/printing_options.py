"""`--print-ir-…`, `--print-changed`, `--dump-dir`: the IR between passes, on stderr or in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from xdsl.ir import Operation

from flambeau.dialects.text.operation_text import PrintingOptions
from flambeau.passes.manager import Instrumentation
from flambeau.passes.manager.registry import PipelineError
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.instruments.ir_printing import CHANGE_MODES, ELIDED_ABOVE, IRPrinting, Selection, print_changes
from flambeau.tools.opt.option_group import Arguments, Chunk, OptionGroup


class PrintingGroup(OptionGroup):
    """The options for printing IR."""

    title = "printing"

    def __init__(self) -> None:
        self._dumped = False

    def add_arguments(self, group: Arguments) -> None:
        """Adds the options."""
        for word in ("before", "after"):
            name = f"print-ir-{word}"
            group.add_argument(f"--{name}", action="append", metavar="PASS,…", help=f"print the IR {word} these passes")
            group.add_argument(f"--{name}-all", action="store_true", help=f"print the IR {word} every pass")
        for name, help_text in (
            ("print-ir-after-change", "print the IR after a pass only if the pass changed it; after every pass if none is named"),
            ("print-ir-after-failure", "print the IR after a failed pass"),
            ("print-ir-module-scope", "print the whole module also where a pass runs on one function"),
        ):
            group.add_argument(f"--{name}", action="store_true", help=help_text)
        group.add_argument(
            "--print-changed",
            nargs="?",
            const="full",
            choices=CHANGE_MODES,
            help="print the changes of each pass: the IR (quiet: and no word of the other passes) or a diff, in colour on a terminal or "
            "always (cdiff); NO_COLOR is respected",
        )
        group.add_argument(
            "--dump-dir",
            type=Path,
            metavar="DIR",
            help="write the module to DIR/NN_PASS.mlir after each pass that changed it, weights to DIR/weights; index.json and .html",
        )
        group.add_argument("--print-op-generic", action="store_true", help="print the generic form of operations")
        group.add_argument("--print-debuginfo", action="store_true", help="print locations")
        group.add_argument("--print-unique-ssa-ids", action="store_true", help="give no two values of the module one name")
        group.add_argument("--print-value-users", action="store_true", help="say in comments which operations use each value")
        group.add_argument(
            "--print-local-scope", action="store_true", help="print no aliases: there never are any, so this changes nothing"
        )
        group.add_argument(
            "--elide-elementsattrs-if-larger",
            type=_count,
            metavar="N",
            help="print constants of more than N elements as dense_resource<__elided__>; between passes N is 64 anyway",
        )
        group.add_argument(
            "--elide-resource-strings-if-larger",
            type=_count,
            metavar="N",
            help="leave out resources whose text has more than N characters",
        )

    def check(self, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
        """Refuses to overwrite the input with stages."""
        self._dumped = False
        if arguments.dump_dir is not None and arguments.input != "-":
            from flambeau.tools.instruments.stage_dump import is_stage

            if is_stage(Path(arguments.input), arguments.dump_dir):
                parser.error(f"--dump-dir: {arguments.input} is a stage in this folder, which would be written anew: name another folder")

    def instrumentations(self, chunk: Chunk) -> Sequence[Instrumentation]:
        """Returns the instrumentations that print or write IR."""
        arguments = chunk.arguments
        items: list[Instrumentation] = []
        if arguments.dump_dir is not None:
            from flambeau.tools.instruments.stage_dump import StageDump, chunk_folder, remove_stages

            folder: Path = arguments.dump_dir
            if not self._dumped:
                remove_stages(folder)
            self._dumped = True
            items.append(StageDump(chunk_folder(folder, chunk.number) if arguments.split_input_file else folder))
        before = _selection(chunk, "before", arguments.print_ir_before_all)
        unnamed = arguments.print_ir_after_change and not arguments.print_ir_after
        after = _selection(chunk, "after", arguments.print_ir_after_all or unnamed)
        if before or after or arguments.print_ir_after_failure:
            items.append(
                IRPrinting(
                    sys.stderr,
                    before,
                    after,
                    only_changed=arguments.print_ir_after_change,
                    after_failure=arguments.print_ir_after_failure,
                    module_scope=arguments.print_ir_module_scope,
                    options=_between_passes(arguments),
                )
            )
        if (mode := arguments.print_changed) is not None:
            scope: bool = arguments.print_ir_module_scope
            mode = "cdiff" if mode == "diff" and arguments.color else mode
            items.append(print_changes(sys.stderr, mode, module_scope=scope, options=_between_passes(arguments)))
        return items


def printing_options(arguments: argparse.Namespace) -> PrintingOptions:
    """Returns the settings for printing the result."""
    return PrintingOptions(
        generic=arguments.print_op_generic,
        locations=arguments.print_debuginfo,
        unique_names=arguments.print_unique_ssa_ids,
        users=arguments.print_value_users,
        elide_above=arguments.elide_elementsattrs_if_larger,
        elide_resources_above=arguments.elide_resource_strings_if_larger,
        irdl=_for_irdl(arguments.irdl_runs) if arguments.print_for_irdl else None,
    )


def _for_irdl(runs: int | None) -> Callable[[Operation], Operation]:
    from flambeau.dialects.irdl.export import for_irdl

    return partial(for_irdl, runs=runs)


def _between_passes(arguments: argparse.Namespace) -> PrintingOptions:
    options = printing_options(arguments)
    elements, resources = options.elide_above, options.elide_resources_above
    return replace(
        options, elide_above=ELIDED_ABOVE if elements is None else elements, elide_resources_above=0 if resources is None else resources
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0 up, got {text!r}")
    return int(text)


def _selection(chunk: Chunk, word: str, every: bool) -> Selection:
    """Returns the passes that an option names, which must be in the pipeline."""
    if every:
        return "all"
    given: list[str] = getattr(chunk.arguments, f"print_ir_{word}") or []
    names = frozenset(name for text in given for name in text.split(","))
    present = {item.name for item in chunk.pipeline.passes()}
    for name in sorted(names - present):
        near = did_you_mean(name, present) or f"; it has {', '.join(sorted(present)) or 'none'}"
        raise PipelineError(f"--print-ir-{word} names {name!r}, but the pipeline has no such pass{near}")
    return names

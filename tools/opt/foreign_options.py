"""Options of mlir-opt and xdsl-opt: aliases, options that are not needed, and alternatives to the rest."""

ALIASES = {
    "help-hidden": "help",
    "help-list": "help",
    "help-list-hidden": "help",
    "load-dialect-plugin": "load-plugin",
    "load-pass-plugin": "load-plugin",
    "log-mlir-actions-to": "log-actions-to",
    "mlir-pass-pipeline-crash-reproducer": "crash-reproducer",
    "mlir-print-ir-tree-dir": "dump-dir",
    "output-file": "output",
    "profile-actions-to": "profile-actions",
    "time-passes": "timing",
}
"""Other tools' names of options of ours. Those of mlir-opt that are ours with `mlir-` before them need no line."""

NOTHING_TO_DO = {
    "mlir-disable-threading": "there is one thread",
    "mlir-pass-pipeline-local-reproducer": "reproducers begin as late in the pipeline as the error still comes",
}
"""Options of other tools for behaviour that is always on, with the reason."""

HINTS = {
    "debug": "--remarks prints remarks of passes, --log-actions-to=- every rewrite",
    "debug-only": "--remarks=REGEX prints remarks of passes, --log-actions-to=- every rewrite",
    "disable-verify": "--verify-each=0 leaves out the verification after passes",
    "elide-resource-data-from-bytecode": "flambeau-opt has no bytecode",
    "emit-bytecode": "flambeau-opt has no bytecode; flambeau compile writes programs",
    "emit-bytecode-version": "flambeau-opt has no bytecode",
    "log-mlir-actions-filter": "--log-actions-to writes all of them",
    "mlir-enable-debugger-hook": "--debug-counter forbids single rewrites, and flambeau bisect finds the one that is wrong",
    "mlir-output-format": "--timing-json writes the times as JSON",
    "mlir-pretty-debuginfo": "--print-debuginfo prints locations",
    "mlir-print-elementsattrs-with-hex-if-larger": "--elide-elementsattrs-if-larger leaves large constants out",
    "mlir-print-op-on-diagnostic": "diagnostics show the operation anyway",
    "mlir-print-skip-regions": "regions are always printed",
    "no-implicit-module": "top-level operations always get a module around them",
    "print-between-passes": "--print-ir-after-all prints the IR after every pass, on stderr",
}
"""Options of other tools that `flambeau-opt` does not have, with the replacement."""

"""`flambeau quantize`: turns a float model into a program of 8-bit integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flambeau.frontends.interface import require_torchao
from flambeau.frontends.quantization_choices import Scheme, check_scheme, quantizing_backend, quantizing_target
from flambeau.support.files import replacing
from flambeau.support.logs import logs_silenced
from flambeau.tools.commands.console import print_json, stderr_console, working
from flambeau.tools.commands.model_source import load_exported, stem_of
from flambeau.tools.commands.output_paths import OutputError, check_output
from flambeau.tools.commands.shared_options import AsJson, LoadPlugins
from flambeau.tools.semantics.stored_inputs import load_inputs

if TYPE_CHECKING:
    from flambeau.frontends.torch_quantization.quantization_report import QuantizationReport
    from flambeau.passes.delegation.report import DelegationInfo


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of `flambeau quantize`."""

    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FILE.npz", help="an array for each input, by its name or as arg0, whose first dimension counts samples"
        ),
    ] = None
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            metavar="RECIPE",
            help="int8: weights and activations, with ranges from samples; int8-dynamic: with ranges from each run; w8: weights only",
        ),
    ] = "int8"
    backend: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="NAME", help="quantize as this backend, or this target, wants, and tell which operators a backend takes"
        ),
    ] = None
    floats: Annotated[
        list[str] | None,
        typer.Option(
            "--float",
            metavar="WHAT",
            help="keep a module, layers.0.attention, or an operator, linear, in floats; may be given again",
        ),
    ] = None
    report: Annotated[
        bool, typer.Option("--report", help="print how much each operator differs on the samples, and why it stays in floats")
    ] = False
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.pt2", help="the .pt2 to write; by default MODEL_RECIPE.pt2 in this folder"),
    ] = None


@dataclass(frozen=True)
class Left:
    """Operators that a backend leaves, and the reason."""

    operator: str
    count: int
    reason: str


@dataclass(frozen=True)
class Taken:
    """The operators of a quantized program that a backend takes, without those that only quantize and dequantize."""

    name: str
    taken: int
    partitions: int
    left: Sequence[Left]

    @staticmethod
    def of(info: DelegationInfo, name: str) -> Taken:
        """Returns the numbers of a survey."""
        rows = [row for row in info.rows if not row.operator.startswith("quantized_decomposed.")]
        left = [Left(row.operator.removeprefix("edge."), row.count, row.reason) for row in rows if row.backend is None]
        return Taken(name, sum(row.count for row in rows if row.backend is not None), info.num_delegated_subgraphs, left)

    def __str__(self) -> str:
        total = self.taken + sum(item.count for item in self.left)
        partitions = f"{self.partitions} partition{'s' * (self.partitions != 1)}"
        lines = [f"{self.name} takes {self.taken} of {total} operators, in {partitions}"]
        return "\n".join([*lines, *(f"  {item.count} {item.operator}: {item.reason}" for item in self.left)])


def quantize_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="a .pt2 file, package.module:name or file.py:name")],
    options: QuantizeOptions,
    load_plugin: LoadPlugins = None,
    json: AsJson = False,
) -> None:
    """Quantize MODEL to a .pt2 that flambeau compile takes."""
    path = options.output or Path(f"{stem_of(model)}_{options.recipe}.pt2")
    if path.suffix != ".pt2":
        raise OutputError(f"-o {path}: a quantized model is written as a .pt2 file, which flambeau compile takes")
    check_output(path, "pt2", model)
    check_scheme(options.recipe)
    target = quantizing_target(options.backend)
    backend = None if options.backend is None or target is not None else quantizing_backend(options.backend)
    require_torchao("flambeau quantize")
    from flambeau.compiler.edge_program import to_edge
    from flambeau.frontends.torch_quantization.post_training import quantize, save
    from flambeau.frontends.torch_quantization.recipe import Recipe

    recipe = Recipe(cast("Scheme", options.recipe), dict.fromkeys(options.floats or (), "float"))
    console = stderr_console()
    samples = None if options.data is None else load_inputs(options.data)
    with logs_silenced():
        with working(console, f"reading {model}"):
            program = load_exported(model)
        with working(console, f"quantizing {model}"):
            quantized = quantize(program, samples, recipe, backend if target is None else target.name)
        with working(console, f"writing {path}"), replacing(path) as file:
            save(quantized.program, file)
        with working(console, f"comparing {path} with {model}"):
            report = quantized.report()
        taken = None if backend is None else Taken.of(to_edge(quantized.program).survey(backend), str(options.backend))
    size = path.stat().st_size
    if json:
        further = {} if taken is None else {"backend": asdict(taken)}
        print_json({"output": str(path), "bytes": size, "recipe": options.recipe, "report": report.data(), **further})
        return
    if options.report:
        _print_operators(console, report)
    console.print(Text(str(report)))
    if taken is not None:
        console.print(Text(str(taken)))
    console.print(Text(f"{path}: {size} bytes"))


def _print_operators(console: Console, report: QuantizationReport) -> None:
    from flambeau.frontends.torch_quantization.quantization_report import decibels

    table = Table(
        "module", "operator", "numbers", "SNR, dB", "least", "greatest", "bytes", "quantized", "why", box=None, header_style="bold"
    )
    for item in report.operators:
        sizes = (str(item.bytes_before), str(item.bytes_after)) if item.bytes_before else ("", "")
        numbers = (decibels(item.snr), f"{item.low:.4g}", f"{item.high:.4g}")
        table.add_row(item.path, item.operator, item.scheme, *numbers, *sizes, item.reason)
    console.print(table)

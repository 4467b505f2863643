"""The test cases of a bundled program, for `flambeau run --bundled`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime.bundled_program import BundleError, CaseResult, read_bundled_program, verify_case
from flambeau.runtime.emit import read_pte
from flambeau.runtime.flat_tensor import link_files
from flambeau.runtime.pte import PteError
from flambeau.support.files import no_file
from flambeau.support.suggestions import did_you_mean
from flambeau.tools.commands.console import print_json, stderr_console, working
from flambeau.tools.commands.delegate_summary import how_delegates_run
from flambeau.tools.commands.engines import EngineError, default_engine, make_engine
from flambeau.tools.commands.model_source import SourceError


def run_test_cases(
    path: Path,
    data_path: Sequence[Path],
    method: str | None,
    engine: str | None,
    backend_options: Mapping[str, Mapping[str, str]],
    *,
    threads: int,
    rtol: float,
    atol: float,
    json: bool,
) -> bool:
    """Runs the test cases of a `.bpte`, or those of one method, and prints a line for each. Returns whether all outputs match.

    Raises:
        SourceError: there is no such file, or it is not a bundled program.
        EngineError: there are no such test cases, or the engine cannot run the program.
    """
    if not path.is_file():
        raise SourceError(no_file(path))
    context = FlambeauContext()
    try:
        bundle = read_bundled_program(path.read_bytes())
        program = link_files(bundle.program, data_path) if data_path else bytes(bundle.program)
        module = read_pte(program, context)
    except (BundleError, PteError) as error:
        raise SourceError(f"{path}: {error}") from error
    suites = {suite.method_name: suite.test_cases for suite in bundle.method_test_suites}
    if method is not None and method not in suites:
        help = did_you_mean(method, suites) or f"; it has them for {', '.join(suites) or 'none'}"
        raise EngineError(f"{path} has no test cases for method {method!r}{help}")
    results: list[CaseResult] = []
    with working(stderr_console(), f"running {path}"):
        for name, cases in suites.items():
            for number, case in enumerate(cases if method in (None, name) else ()):
                # A new engine each time, so that mutable buffers begin with their first values.
                runner = make_engine(engine, module, context, name, program, backend_options, threads)
                results.append(verify_case(name, number, case, runner, rtol=rtol, atol=atol))
    methods = [name for name in suites if method in (None, name)]
    for line in dict.fromkeys(
        line for name in methods for line in how_delegates_run(module, name, engine or default_engine(module, program))
    ):
        stderr_console().print(line)
    if json:
        print_json({"rtol": rtol, "atol": atol, "cases": [_as_json(result) for result in results]})
    else:
        for result in results:
            print(result)
    return all(result.passed for result in results)


def _as_json(result: CaseResult) -> dict[str, object]:
    difference = result.difference if math.isfinite(result.difference) else None
    return {
        "method": result.method,
        "case": result.case,
        "passed": result.passed,
        "compared": result.compared,
        "difference": difference,
        "failures": list(result.failures),
    }

"""The times of OpenVINO's layers, and the modules to which the time of a delegate counts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from flambeau import to_edge
from flambeau.compiler.program_profile import profile_program
from flambeau.runtime import Runtime
from flambeau.runtime.etdump import read_etdump_file

pytestmark = pytest.mark.usefixtures("openvino_library")
X = torch.linspace(-1, 1, 64 * 256).reshape(64, 256)


def program() -> bytes:
    layers = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Softmax(-1), torch.nn.Linear(256, 64)).eval()
    return bytes(to_edge(torch.export.export(layers, (X,))).to_backend("openvino").to_executorch().buffer)


def test_the_time_of_a_delegate_counts_for_its_modules():
    profile = profile_program(program(), lambda: [X.numpy()], iterations=6)
    assert {row.name for row in profile.rows("module")} >= {"0", "1", "2"}
    inside = [row for row in profile.rows() if row.is_inside]
    assert len(inside) >= 3 and {row.frames[0].name for row in inside} == {"0", "1", "2"}
    # OpenVINO tells means of all runs; what is told of each run must not have the time of the first.
    whole = sum(event.nanoseconds for run in profile.runs for event in run if event.kind.name == "DELEGATE")
    assert 0 < sum(sum(row.times) for row in inside) < whole + len(inside) * 20_000


def test_an_etdump_has_its_layers(tmp_path: Path):
    loaded = Runtime.get().load_program(program(), enable_etdump=True)
    method = loaded.load_method("forward")
    for _ in range(2):
        method.execute([X.numpy()])
    loaded.write_etdump_result_to_file(tmp_path / "model.etdp")
    runs = [[event.profile_event for event in run.events] for run in read_etdump_file(tmp_path / "model.etdp").run_data]
    names = [{event.delegate_debug_id_str for event in run if event is not None} for run in runs]
    assert len(names) == 2 and all(any(str(name).startswith("1.SoftMax_") for name in found) for found in names)

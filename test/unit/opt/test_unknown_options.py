"""Options that a command of `flambeau` does not have: the error says what there is instead."""

import pytest

from flambeau.tools.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "model.mlir", "--remarks"], "flambeau-opt stage.mlir -p PIPELINE --remarks"),
        (["compile", "model.mlir", "--timing"], "flambeau-opt stage.mlir -p PIPELINE --timing"),
        (["compile", "model.mlir", "--pass-statistics=x"], "flambeau-opt stage.mlir -p PIPELINE --pass-statistics"),
        (["bisect", "model.mlir", "--cube-to-pow"], "a pass is named by -p cube-to-pow"),
        (["bisect", "model.mlir", "-cube-to-pow"], "a pass is named by -p cube-to-pow"),
        (["reduce", "model.mlir", "-cse"], "a pass is named by -p cse"),
    ],
)
def test_an_unknown_option_says_what_there_is_instead(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    # In a frame, whose lines end anywhere.
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "No such option" in told and message in told

"""Where instructions come from: from IR into the program, into the errors of the C runtime, and back into IR."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from runtime_programs import call, plan, tensor, write
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, NameLoc, StringAttr, UnknownLoc

from flambeau.dialects.ir.locations import fused_location
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.runtime import FlambeauError, Runtime, pte
from flambeau.runtime.emit import emit_pte, read_pte
from flambeau.runtime.emit.places import to_frames

PROGRAM = """
exec.method @forward {arenas = [256], input_names = ["x"], output_names = ["y"]} {
  %x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32>
  %i = exec.constant @i : tensor<1xi64>
  %some = exec.optional_tensor_list [%i]
  %sum = exec.tensor {arena = 1, offset = 16} : tensor<4xf32>
  %y = exec.tensor {arena = 1, offset = 32} : tensor<1xf32>
  %one = exec.int 1
  exec.call "aten::add.out"(%x, %x, %one) outs(%sum) loc("layers.0"("model.py":12:4))
  exec.call "aten::relu.out"(%sum) outs(%sum) loc("layers.0"("model.py":12:0))
  exec.call "aten::neg.out"(%sum) outs(%sum) loc(fused[ALL])
  exec.call "aten::index.Tensor_out"(%sum, %some) outs(%y) loc("head"(callsite("head.py":7:0 at "model.py":9:0)))
  exec.return inputs(%x) outputs(%y)
}
ml_program.global private @i(#flambeau.blob<"i", "DIGEST">) : tensor<1xi64>
"""
ALL = '"a"("model.py":1:0), "b"(fused["other.py":2:0, unknown]), "model.py":3:0, "a"("model.py":1:9)'


def program() -> tuple[ModuleOp, FlambeauContext]:
    context = FlambeauContext()
    digest = context.blobs.add("i", np.array([4], np.int64).tobytes()).digest.data
    return parse_module(PROGRAM.replace("DIGEST", digest).replace("ALL", ALL), context).module, context


def stack(file: bytes) -> Sequence[pte.FrameList] | None:
    return pte.read_program(file).execution_plan[0].chains[0].stacktrace


def test_each_instruction_has_its_places_once() -> None:
    places = stack(b"".join(emit_pte(*program())))
    assert places is not None
    first, second, third, last = places
    assert first == second == pte.FrameList((pte.Frame("model.py", 12, "layers.0"),))
    assert third.items == (pte.Frame("model.py", 1, "a"), pte.Frame("other.py", 2, "b"), pte.Frame(name="b"), pte.Frame("model.py", 3))
    assert last.items == (pte.Frame("head.py", 7, "head"),)


def test_more_places_than_a_program_keeps_have_the_common_module_of_all() -> None:
    def place(path: str, line: int) -> LocationAttr:
        return NameLoc(StringAttr(path), FileLineColLoc(StringAttr("model.py"), IntAttr(line), IntAttr(0)))

    places = [place(f"net.a.{line}", line) for line in range(20)] + [place("net.b", 20), UnknownLoc(), place("net.a.20", 21)]
    frames = to_frames(fused_location([*places, *places])).items
    assert [frame.lineno for frame in frames] == [*range(7), 20]
    assert fused_location([places[0], places[0]]) == places[0]


def test_they_read_back_as_locations_and_write_again_as_they_were() -> None:
    file = b"".join(emit_pte(*program()))
    context = FlambeauContext()
    module = read_pte(file, context)
    text = print_module(module, locations=True)
    assert text.count('loc("layers.0"("model.py":12:0))') == 2
    assert 'loc(fused["a"("model.py":1:0), "b"("other.py":2:0), "b", "model.py":3:0])' in text.replace("(unknown)", "")
    assert '%x = exec.tensor {arena = 1, offset = 0} : tensor<4xf32> loc("x")' in text.replace("(unknown)", "")
    again = parse_module(text, context).module
    assert b"".join(emit_pte(again, context)) == file


def test_without_debug_information_the_program_knows_no_places() -> None:
    module, context = program()
    stripped = b"".join(emit_pte(module, context, strip_debug=True))
    assert stack(stripped) is None
    assert "model.py" not in print_module(read_pte(stripped, FlambeauContext()), locations=True)


def test_errors_of_the_runtime_name_the_place() -> None:
    method = Runtime.get().load_program(b"".join(emit_pte(*program()))).load_method()
    with pytest.raises(FlambeauError) as error:
        method.execute([np.ones(4, np.float32)])
    assert "instruction 3, aten::index.Tensor_out: index 4 is out of range" in str(error.value)
    assert "; at head (head.py:7); its arguments are" in str(error.value)
    with pytest.raises(FlambeauError) as error:
        method.execute([np.ones(4, np.float64)])
    assert str(error.value) == "method 'forward', input 0: expected float32, got float64; first used at layers.0 (model.py:12)"


@pytest.mark.parametrize("places", [(), (pte.FrameList(),), (pte.FrameList((pte.Frame(), pte.Frame("\n" * 300, -1, "x" * 900))),) * 5])
def test_places_that_do_not_fit_the_instructions_do_no_harm(places: tuple[pte.FrameList, ...]) -> None:
    method = plan(
        [tensor(2, at=0), tensor(2, at=32), pte.Int(1), tensor(3, at=64)], [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0, 1], [3]
    )
    chain = pte.Chain(method.chains[0].instructions, stacktrace=places)
    file = write(replace(method, chains=(chain,)))
    loaded = Runtime.get().load_program(file).load_method()
    with pytest.raises(FlambeauError, match=r"method 'forward', instruction 0, aten::add.out: "):
        loaded.execute([np.ones(2, np.float32)] * 2)
    read_pte(file, FlambeauContext())

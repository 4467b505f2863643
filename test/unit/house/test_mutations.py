"""The faults of test/campaigns: what is changed, what is left alone, and which tests are near a file."""

import ast
import textwrap
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from campaigns import mutations
from campaigns.c_mutations import c_mutations
from campaigns.faults import ROOMS, draws, equivalent
from campaigns.mutations import Mutation
from campaigns.python_mutations import is_python, python_mutations
from campaigns.tests_of_files import USUAL, nearest_filecheck, nearest_tests, operator_names

ROOT = Path(__file__).resolve().parents[3]


def lines_of(make: Callable[[str], list[Mutation]], source: str) -> set[tuple[str, str]]:
    """The operator of each mutation, and the lines that it makes, without their margins."""
    return {(mutation.operator, mutation.lines(source)[2].strip()) for mutation in make(source)}


PYTHON = {
    "x = a < b": {("comparison boundary", "x = a <= b"), ("comparison negation", "x = a >= b")},
    "x = a is (not b)": {("comparison negation", "x = a is not (not b)"), ("inverted condition", "x = a is (b)")},
    "x = (a) not in (b)": {("comparison negation", "x = (a) in (b)")},
    "x = a // b": {("arithmetic operator", "x = a * b")},
    "x = (a - b) * c": {
        ("arithmetic operator", "x = (a - b) / c"),
        ("arithmetic operator", "x = (a + b) * c"),
        ("dropped term", "x = (a) * c"),
    },
    "x = 0, 7": {("constant off by one", f"x = {numbers}") for numbers in ("1, 7", "0, 6", "0, 8")},
    "@row(core=True)\nclass Op: ...": {("flag", "@row(core=False)")},
    "x = a and b and c": {("dropped term", f"x = ({kept})") for kept in ("a and b", "a and c", "b and c")},
    "x = f(a, b=c, *d)": set[tuple[str, str]](),
    "x = f(a, g(b), b=c)": {("swapped arguments", "x = f(g(b), a, b=c)")},
    "x = a if b == c else d": {
        ("comparison negation", "x = a if b != c else d"),
        ("inverted condition", "x = a if not (b == c) else d"),
    },
    "if a:\n    raise ValueError(b)": {("inverted condition", "if not a:"), ("dropped check", "pass")},
    "if a:\n    return b\nelif c:\n    return d": {("inverted condition", "if not a:"), ("inverted condition", "elif not c:")},
    "check(a)\nx.y = a\nx += a": {("dropped statement", "pass"), ("dropped statement", "pass")},
}


@pytest.mark.parametrize("source", PYTHON)
def test_each_mutation_of_python(source: str):
    assert lines_of(python_mutations, source) == PYTHON[source]


def test_annotations_and_texts_of_python_stay():
    source = '''
    """A docstring of 1 < 2."""
    @dataclass(frozen=True)
    class C: ...
    def f(a: tuple[int, 1] | None = None, *b: "1 + 2") -> Literal[3]:
        c: Final[4] = f"{a + 1}" + "é"
        return cast(int | None, isinstance(c, scf.IfOp | ForOp)), zip(a, b, strict=True)  # 1 < 2
    '''
    assert {mutation.operator for mutation in python_mutations(textwrap.dedent(source))} == {"swapped arguments"}


def test_a_place_behind_letters_of_several_bytes_is_found():
    assert lines_of(python_mutations, 'x = "é", a < b') == {
        ("comparison boundary", 'x = "é", a <= b'),
        ("comparison negation", 'x = "é", a >= b'),
    }


def test_mutations_of_a_module_are_other_python():
    source = Path(mutations.__file__).read_text()
    texts = [mutation.applied(source) for mutation in python_mutations(source)]
    assert len(texts) > 10 and all(map(is_python, texts))
    assert ast.dump(ast.parse(source)) not in {ast.dump(ast.parse(text)) for text in texts}


C = {
    "x = a < b;": {("comparison boundary", "x = a <= b;"), ("comparison negation", "x = a >= b;"), ("dropped statement", ";")},
    "const int x = a - (int64_t)-b * *c;": {
        ("arithmetic operator", "const int x = a + (int64_t)-b * *c;"),
        ("arithmetic operator", "const int x = a - (int64_t)-b / *c;"),
        ("dropped term", "const int x = a;"),
    },
    "return a[2u];": {("constant off by one", "return a[3u];"), ("constant off by one", "return a[1u];")},
    'const char *text = "a < b + 1"; /* 1 < 2 */  // a - b': set[tuple[str, str]](),
    'static_assert(sizeof(int) == 4, "an int");': set[tuple[str, str]](),
    "return a && f(b, c) && d;": {
        ("dropped term", "return a && d;"),
        ("dropped term", "return a && f(b, c);"),
        ("swapped arguments", "return a && f(c, b) && d;"),
    },
    "if (!a) { return b; }": {
        ("inverted condition", "if (!(!a)) { return b; }"),
        ("inverted condition", "if (a) { return b; }"),
        ("dropped check", ";"),
    },
    "if (a) { return b; } else { return c; }": {("inverted condition", "if (!(a)) { return b; } else { return c; }")},
    "for (char *p = a; p != b; p += c) { f(p); }": {
        ("comparison negation", "for (char *p = a; p == b; p += c) { f(p); }"),
        ("arithmetic operator", "for (char *p = a; p != b; p -= c) { f(p); }"),
        ("dropped statement", "for (char *p = a; p != b; p += c) { ; }"),
    },
    "FL_TENSOR_ARGUMENT(self, a);": set[tuple[str, str]](),
    'FL_CHECK(context, a, "a text");': {("dropped check", ";")},
}


@pytest.mark.parametrize("body", C)
def test_each_mutation_of_c(body: str):
    source = f"#define X(a) (a < 1)\nstatic const int numbers[2] = {{3, 4}};\nint f(int a, int b) {{\n{body}\n}}\n"
    assert lines_of(c_mutations, source) == C[body]
    assert {mutation.scope for mutation in c_mutations(source)} <= {"f"}


def test_a_seed_draws_the_same_faults_again_and_another_seed_others():
    files = {path: (ROOT / path).read_text() for path in ("dialects/aten/movement/flip.py", "runtime/c/kernels/flip.c")}
    first, again, other = ([fault.key for fault in islice(draws("rows", files, seed), 10)] for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 10


def test_a_fault_that_is_judged_to_change_nothing_has_a_reason_and_is_of_a_room():
    folders = tuple(folder for room in ROOMS.values() for folder in room)
    for key, reason in equivalent().items():
        assert reason.endswith(".") and key.file.startswith(folders)
        assert (ROOT / key.file).is_file()


def test_the_tests_near_a_file_exist():
    assert all((ROOT / path).exists() for paths in USUAL.values() for path in paths)
    assert "flambeau.passes.memory.verify_plan" in (ROOT / nearest_tests(ROOT, "passes/memory/verify_plan.py")[0]).read_text()
    assert nearest_filecheck(ROOT, "passes/memory/verify_plan.py")[0] == "test/filecheck/passes/memory/verify-plan.mlir"
    assert operator_names(ROOT, "runtime/c/kernels/flip.c") == ["aten.flip", "aten.roll"]
    assert {"fused.linear"} <= set(operator_names(ROOT, "dialects/fused/linear.py"))

"""The exact search: the smallest plans of small problems, perfect packings, its limits, and its C code under the sanitizers."""

import random
import subprocess
from pathlib import Path

import pytest

from flambeau.passes.planning import exact
from flambeau.passes.planning.buffers import Buffer, Plan, check_plan, lower_bound
from flambeau.passes.planning.exact import MOST_BUFFERS, ExactSearch
from flambeau.passes.planning.portfolio import plan_buffers

HERE = Path(__file__).parent
WORK = 100_000_000


def searched(buffers: list[Buffer], work: int = WORK) -> ExactSearch:
    """The search, from a plan in which nothing is shared."""
    offsets = [sum(buffer.size for buffer in buffers[:index]) for index in range(len(buffers))]
    search = ExactSearch(buffers, offsets, sum(buffer.size for buffer in buffers), lower_bound(buffers))
    search.run(work)
    check_plan(buffers, Plan(tuple(search.offsets), search.size, "exact"))
    return search


def has_plan(buffers: list[Buffer], capacity: int, offsets: tuple[int, ...] = ()) -> bool:
    """Whether there is a plan, the slow and plain way: through all offsets."""
    if len(offsets) == len(buffers):
        return True
    one = buffers[len(offsets)]
    near = [(at, at + other.size) for other, at in zip(buffers, offsets, strict=False) if one.start < other.end and other.start < one.end]
    places = (at for at in range(capacity - one.size + 1) if all(at + one.size <= low or high <= at for low, high in near))
    return any(has_plan(buffers, capacity, (*offsets, at)) for at in places)


def always_full(choice: random.Random, times: int, size: int) -> list[Buffer]:
    """Buffers of which so many bytes are live at each time, whether they fit or not."""
    buffers: list[Buffer] = []
    for time in range(times):
        free = size - sum(buffer.size for buffer in buffers if buffer.end > time)
        while free:
            size_of_one = choice.randint(1, free)
            buffers.append(Buffer(time, min(times, time + choice.randint(1, 4)), size_of_one))
            free -= size_of_one
    return buffers


def packing(choice: random.Random, start: int, end: int, size: int, pieces: int) -> list[Buffer]:
    """Buffers that fill a span of time and bytes without a gap."""
    if pieces < 2 or end - start < 2 or size < 2:
        return [Buffer(start, end, size)]
    part = choice.randrange(1, pieces)
    if choice.random() < 0.5:
        at = choice.randrange(start + 1, end)
        return packing(choice, start, at, size, part) + packing(choice, at, end, size, pieces - part)
    at = choice.randrange(1, size)
    return packing(choice, start, end, at, part) + packing(choice, start, end, size - at, pieces - part)


@pytest.mark.parametrize("seed", [*range(20), 54])
def test_small_problems_have_the_smallest_plan_and_it_is_proven(seed: int):
    buffers = always_full(random.Random(seed), 8, 8)
    fewest = next(size for size in range(8, 16) if has_plan(buffers, size))
    search = searched(buffers)
    assert (search.size, search.bound) == (fewest, fewest)
    plan = plan_buffers([Buffer(start, end, 16 * size) for start, end, size in buffers], alignment=16)
    assert plan.size == plan.bound == 16 * fewest
    assert fewest == (9 if seed == 54 else 8)


@pytest.mark.parametrize("seed", range(8))
def test_perfect_packings_are_found(seed: int):
    choice = random.Random(seed)
    buffers = packing(choice, 0, 60, 4096, 40)
    choice.shuffle(buffers)
    assert searched(buffers).size == 4096


def test_little_work_leaves_what_was_there():
    buffers = packing(random.Random(1), 0, 60, 4096, 40)
    search = searched(buffers, 0)
    assert search.size == sum(buffer.size for buffer in buffers)
    assert searched(buffers, 200).size <= search.size


def test_what_could_overflow_is_not_searched():
    buffers = [Buffer(0, 2, 2**61), Buffer(1, 3, 2**61), Buffer(2, 4, 2**61)]
    assert searched(buffers).size == 3 * 2**61
    assert plan_buffers(buffers).size == 2**62


def test_more_buffers_than_the_search_takes_have_a_plan():
    choice = random.Random(3)
    starts = [choice.randrange(900) for _ in range(MOST_BUFFERS + 1)]
    buffers = [Buffer(start, start + choice.randint(1, 9), choice.randint(1, 999)) for start in starts]
    plan = plan_buffers(buffers, effort=200_000)
    check_plan(buffers, plan)
    assert plan.bound == lower_bound(buffers) < plan.size


def test_memory_that_runs_out_is_an_end_without_a_result(tmp_path: Path):
    source, program = Path(exact.__file__).parent / "native" / "exact_search.c", tmp_path / "trials"
    names = [f"-D{name}=trial_{name}" for name in ("malloc", "calloc", "realloc")]
    renamed = ["void *trial_malloc(size_t);", "void *trial_calloc(size_t, size_t);", "void *trial_realloc(void *, size_t);"]
    (tmp_path / "declared.h").write_text("#include <stdlib.h>\n" + "\n".join(renamed))
    flags = [
        "-std=c11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Werror",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    included = ["-include", str(tmp_path / "declared.h"), *names]
    subprocess.run(["cc", *flags, *included, "-c", source, "-o", tmp_path / "search.o"], check=True)
    trials = HERE / "exact_search_trials.c"
    subprocess.run(["cc", *flags, f"-I{source.parent}", trials, tmp_path / "search.o", "-o", program], check=True)
    for most in ("-1", "300"):
        said = subprocess.run([program, "4000", most], capture_output=True, text=True, check=True).stdout
        none, found, unknown = map(int, said.split())
        assert found > 100 and unknown > 100 and (none or most != "-1"), said

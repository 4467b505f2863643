"""The events of executions, as the Python binding records them."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtime_programs import call, plan, stock, tensor, write

from flambeau.runtime import Event, EventKind, FlambeauError, Method, Runtime, Status, pte

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
ROW = np.ones(3, np.float32)


def loop() -> Method:
    """Adds a row to each row of a tensor, one after the other."""
    return Runtime.get().load_program(stock("map")).load_method()


def recorded(method: Method, inputs: Sequence[Any], **options: Any) -> Sequence[Event]:
    with method.record_events(**options) as recording:
        method.execute(inputs)
    return recording.events


def test_every_instruction_that_ran_is_an_event_inside_of_its_execution() -> None:
    whole, *rest = recorded(loop(), [ROWS, ROW])
    assert (whole.kind, whole.name, whole.chain, whole.instruction) == (EventKind.EXECUTE, "forward", None, None)
    assert [event.name for event in rest].count("aten::add.out") == len(ROWS)
    assert {event.kind for event in rest} == {EventKind.KERNEL, EventKind.JUMP}
    times = [whole.start, *(time for event in rest for time in (event.start, event.end)), whole.end]
    assert times == sorted(times) and whole.nanoseconds > 0
    assert rest[0].instruction == 0 and all(event.chain == 0 for event in rest)


def test_the_bytes_are_those_of_the_operands_and_the_result_once() -> None:
    assert {event.bytes for event in recorded(loop(), [ROWS, ROW]) if event.name == "aten::add.out"} == {3 * ROW.nbytes}


def test_the_items_of_a_list_count_and_outs_that_are_returned_as_a_list_do_once() -> None:
    method = Runtime.get().load_program(stock("lists")).load_method()
    events = {event.name: event.bytes for event in recorded(method, [np.ones((2, 3), np.float32)] * 2)}
    joined = 4 * (3 * 2 * 3)
    assert events["aten::cat.out"] == 2 * joined
    assert events["aten::max.dim_max"] == joined + 2 * 4 + 2 * 8


def test_nothing_is_recorded_outside_of_the_block() -> None:
    method = loop()
    with method.record_events() as recording:
        method.execute([ROWS, ROW])
        method.execute([ROWS, ROW])
    total = recording.total
    method.execute([ROWS, ROW])
    assert recording.total == total == len(recording.events)
    assert [event.kind for event in recording.events].count(EventKind.EXECUTE) == 2


def test_events_without_room_are_counted() -> None:
    method = loop()
    total = len(recorded(method, [ROWS, ROW]))
    with method.record_events(capacity=5) as recording:
        method.execute([ROWS, ROW])
    assert (len(recording.events), recording.total, recording.lost) == (5, total, total - 5)
    with pytest.raises(ValueError, match="a number of events is an integer between 1 and"), method.record_events(capacity=0):
        pass


def test_a_method_is_recorded_by_one_at_a_time() -> None:
    method = loop()
    with method.record_events(), pytest.raises(FlambeauError, match="being recorded already") as error, method.record_events():
        pass
    assert error.value.status is Status.INVALID_STATE
    assert recorded(method, [ROWS, ROW]), "the first one has ended"


def test_an_execution_that_fails_is_recorded_up_to_there() -> None:
    method = Runtime.get().load_program(stock("map")).load_method(instruction_limit=5)
    with method.record_events() as recording, pytest.raises(FlambeauError, match="did not end within 5 instructions"):
        method.execute([ROWS, ROW])
    assert len(recording.events) == 6


def test_an_instruction_is_numbered_in_its_chain() -> None:
    add = call(0, 0, 0, 1, 2, 2)
    made = plan([tensor(2, at=0), pte.Int(1), tensor(2, at=16)], [add], ["aten::add.out"], [0], [2])
    program = write(replace(made, chains=(pte.Chain(instructions=(add, add)), pte.Chain(instructions=(add,)))))
    method = Runtime.get().load_program(program).load_method()
    places = [(event.chain, event.instruction) for event in recorded(method, [np.ones(2, np.float32)])]
    assert places == [(None, None), (0, 0), (0, 1), (1, 0)]


def test_threads_record_their_own_methods() -> None:
    program = Runtime.get().load_program(stock("map"))
    found: list[Sequence[Event]] = []
    threads = [threading.Thread(target=lambda: found.append(recorded(program.load_method(), [ROWS, ROW]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({len(events) for events in found}) == 1 and len(found) == 4

"""The process of calls: reads them from stdin, and writes answers to what was stdout."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from queue import SimpleQueue
from threading import Thread
from typing import Any

from flambeau.support.tracebacks import in_one_line
from flambeau.tools.process import room_for_nesting

_SECONDS = 1
"""The time that a call has when the process that asked is gone."""


def _read(messages: SimpleQueue[Any]) -> None:
    """Reads the messages, and None behind the last one. Then it ends this process, if a call does not let it end by itself."""
    while True:
        try:
            messages.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            break
    messages.put(None)
    time.sleep(_SECONDS)
    os._exit(0)


def _pickled(error: Exception) -> bytes:
    """Returns an exception as bytes; its line if its class cannot be made again from its arguments."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:
        return pickle.dumps(RuntimeError(in_one_line(error)))


def main() -> None:
    """Answers calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that started this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    messages: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_read, args=(messages,), daemon=True).start()
    setup, failed = messages.get(), None
    try:
        setup.apply()
    except Exception as error:
        failed = _pickled(error)
    with room_for_nesting():
        for call in iter(messages.get, None):
            try:
                function, arguments, named = pickle.loads(call)
                answer = ("returned", pickle.dumps(function(*arguments, **named))) if failed is None else ("raised", failed)
            except Exception as error:
                answer = "raised", _pickled(error)
            pickle.dump(answer, answers)
            answers.flush()


if __name__ == "__main__":
    main()

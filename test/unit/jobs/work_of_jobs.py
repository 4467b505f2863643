"""What tests give executors to do; processes import it, and little else."""

import os
import signal
import sys


def step(number: int) -> int:
    """Returns a square; 3 and 6 end the process, 5 raises an error."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 5:
        raise FileNotFoundError(2, "there is no file", "five")
    if number == 6:
        print("where it was", file=sys.stderr, flush=True)
        os._exit(7)
    return number * number

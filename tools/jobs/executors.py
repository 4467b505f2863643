"""The executors of `--jobs` and `--cluster`, which have the interface of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from flambeau.tools.jobs.child_process import packed
from flambeau.tools.jobs.child_setup import ChildSetup
from flambeau.tools.jobs.cluster import Cluster, JobsError
from flambeau.tools.jobs.thread_children import ThreadChildren

Given = ParamSpec("Given")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Here(Executor):
    """Does work in this process, as it is submitted."""

    def submit(self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Future[Result]:
        """Calls the function, and returns its result as a future."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(ThreadPoolExecutor):
    """Threads that hand their work to processes, one each. If a process dies, one future raises LostProcessError, and no other."""

    def __init__(self, jobs: int):
        super().__init__(jobs)
        self._children = ThreadChildren(ChildSetup.like_here(with_plugins=True))

    def submit(self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Future[Result]:
        """Returns the future of a call in one of the processes."""
        return super().submit(self._answered, packed(fn, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes, with `cancel_futures` also those that work."""
        if cancel_futures:
            super().shutdown(wait=False, cancel_futures=True)
            self._children.kill()
        super().shutdown(wait=wait)
        self._children.end()

    def _answered(self, call: bytes) -> Any:
        return self._children.ask(call).value()


@contextmanager
def open_executor(jobs: int | None, cluster: str | None = None) -> Generator[Executor]:
    """Opens the executor of `--jobs` and `--cluster`: without both, work is done in this process.

    What is not done when the block raises, as after an interrupt, is given up.

    Raises:
        JobsError: the cluster cannot be used.
    """
    if jobs is not None and cluster is not None:
        raise JobsError("--jobs is for processes of this machine: with --cluster, the workers have their own numbers of threads")
    executor = Cluster(cluster) if cluster is not None else Here() if jobs is None else Processes(jobs)
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()


def in_order(executor: Executor, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Future[Result]]]:
    """Yields each item with the future of its result, in the order of the items. Unlike `map`, it goes on after one that fails."""
    futures = ((item, executor.submit(function, item)) for item in items)
    return futures if isinstance(executor, Here) else iter(list(futures))

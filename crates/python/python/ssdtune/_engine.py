"""Calls handed to any ``concurrent.futures.Executor``, and again where a worker was lost.

There is no scheduler and no queue here: the executor has both. An answer counts once, whoever
gives it; the order of answers means nothing.
"""

from __future__ import annotations

import os
import pickle
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures import TimeoutError as Timeout
from contextlib import contextmanager
from typing import Any

from . import _worker
from ._errors import LostError, UsageError, WorkError
from ._ssdtune import __version__
from ._worker import Call, Referred, TraceReference

KILLS_MAX = 3
"""Workers that one call may cost."""

_LOOK_S = 0.05


class _Stopped(Exception):
    """The driver gives up, so nobody waits for answers."""


class Engine:
    """Runs calls on an executor. Use it as a context; its methods may be called from threads."""

    def __init__(self, executor: Executor):
        if not isinstance(executor, Executor):
            raise UsageError(
                f"executor is a {type(executor).__name__}: give a concurrent.futures.Executor"
            )
        self._executor = executor
        self._generation = 0
        self._replaced = False
        self._traces: dict[str, Referred] = {}
        self._references: dict[str, TraceReference] = {}
        self._folder: str | None = None
        self._gate = threading.Condition()
        self._in_flight = 0
        self._alone = 0
        self._stop = threading.Event()

    @property
    def workers(self) -> int:
        """How many calls the executor works on at once, as far as it tells."""
        told = getattr(self._executor, "_max_workers", None)
        return told if isinstance(told, int) and told > 0 else os.cpu_count() or 1

    def __enter__(self) -> Engine:
        # Processes begin here, in this thread, before there are others that hold locks.
        other = self._executor.submit(_worker.version).result()
        if other != __version__:
            raise UsageError(f"the workers have ssdtune {other}, and here is {__version__}")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._replaced:
            self._executor.shutdown(wait=False, cancel_futures=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def reference(self, trace: Referred) -> TraceReference:
        """A reference to a trace, by which workers find it."""
        digest = trace.digest
        with self._gate:
            known = self._references.get(digest)
            if known is None:
                self._traces[digest] = trace
                _worker.own(trace)
                known = self._references[digest] = self._made_known(trace, digest)
        return known

    def _made_known(self, trace: Referred, digest: str) -> TraceReference:
        """A reference to a trace that is now where workers look for it."""
        if isinstance(self._executor, ThreadPoolExecutor):
            return TraceReference(digest)
        share = getattr(self._executor, "share", None)
        if share is not None:
            return TraceReference(digest, shared=share(trace))
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="ssdtune-")
        path = os.path.join(self._folder, digest)
        with open(path, "wb") as file:
            pickle.dump(trace, file, protocol=pickle.HIGHEST_PROTOCOL)
        return TraceReference(digest, path)

    def run(self, call: Call, stopped: Callable[[], bool] = lambda: False) -> Any:
        """The result of a call, whose own exceptions are raised. It is given up once ``stopped``.

        A call whose worker dies runs again. Where a whole pool breaks, nobody knows which call it
        was: each that was under way then runs by itself, so that the one to blame is found.
        """
        kills, alone = 0, False
        parcels: tuple[Referred, ...] = ()
        while True:
            lost: Exception | None = None
            kind: str = "lost"
            value: Any = None
            with self._entered(alone):
                executor, generation = self._executor, self._generation
                try:
                    kind, value = self._wait(executor.submit(_worker.work, call, parcels), stopped)
                except _Stopped:
                    raise KeyboardInterrupt from None
                except Exception as error:
                    lost = error
            if kind == "done":
                return value
            if kind == "failed":
                raise value
            if kind == "missing":
                parcels = tuple(self._traces[digest] for digest in value)
                continue
            told = getattr(self._executor, "workers_lost", None)
            kills += 1 if told is None else told(lost)
            if kills >= KILLS_MAX:
                raise LostError(f"{call.words}: {kills} workers were lost that ran it ({lost})")
            if isinstance(lost, BrokenExecutor):
                alone = True
                self._replace(generation, lost)

    def map(self, calls: Sequence[Call], done: Callable[[int, Any], None]) -> list[Any]:
        """The results of all calls in their order, or exceptions in their places. ``done`` is told
        how many there are so far and which is new, in this thread."""
        results: list[Any] = [None] * len(calls)
        places = iter(range(len(calls)))
        lock = threading.Lock()
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()

        def take() -> None:
            while not self._stop.is_set():
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                try:
                    results[place] = self.run(calls[place])
                except BaseException as error:
                    results[place] = error
                ended.put(place)

        takers = min(self.workers, len(calls))
        threads = [threading.Thread(target=take, daemon=True) for _ in range(takers)]
        for thread in threads:
            thread.start()
        try:
            finished = 0
            while finished < len(calls):
                try:
                    place = ended.get(timeout=_LOOK_S)
                except queue.Empty:
                    continue
                finished += 1
                done(finished, results[place])
        except BaseException:
            self._stop.set()
            raise
        for thread in threads:
            thread.join()
        return results

    def _wait(
        self, future: Future[tuple[str, Any]], stopped: Callable[[], bool]
    ) -> tuple[str, Any]:
        while True:
            try:
                return future.result(timeout=_LOOK_S)
            except Timeout as error:
                # The executor's own, not that of this wait.
                if future.done() and not future.cancelled() and future.exception() is error:
                    raise
                if self._stop.is_set() or stopped():
                    future.cancel()
                    raise _Stopped from None

    @contextmanager
    def _entered(self, alone: bool) -> Iterator[None]:
        """Lets many calls in, or one that is alone."""
        with self._gate:
            self._alone += alone
            if alone:
                self._gate.wait_for(lambda: self._in_flight == 0)
            else:
                self._gate.wait_for(lambda: self._alone == 0)
            self._in_flight += 1
        try:
            yield
        finally:
            with self._gate:
                self._alone -= alone
                self._in_flight -= 1
                self._gate.notify_all()

    def _replace(self, generation: int, lost: BrokenExecutor) -> None:
        """Goes on with a pool of the same kind where one is broken for good."""
        with self._gate:
            if generation != self._generation:
                return
            broken = self._executor
            if not isinstance(broken, ProcessPoolExecutor):
                raise WorkError(f"the executor is broken: {lost}")
            self._executor = ProcessPoolExecutor(
                max_workers=self.workers,
                mp_context=getattr(broken, "_mp_context", None),
                initializer=getattr(broken, "_initializer", None),
                initargs=getattr(broken, "_initargs", ()),
            )
            self._generation += 1
            if self._replaced:
                broken.shutdown(wait=False, cancel_futures=True)
            self._replaced = True

"""Executors beyond this machine: Ray and Dask, as ``concurrent.futures.Executor``.

Scheduling, queues and transport are theirs; what is here only hands calls over.

    with st.engines.ray("auto") as executor:
        found = st.search("websearch", executor=executor)

From the shell: ``python -m ssdtune search --engine ray --address auto ...``.
"""

from __future__ import annotations

import importlib
import multiprocessing
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any, TypeVar

from ._errors import UsageError, WorkError

T = TypeVar("T")

NAMES = ("ray", "dask", "processes")


def named(name: str, address: str | None = None) -> Executor:
    """The engine that ``--engine`` and ``--address`` name.

    >>> import ssdtune as st
    >>> with st.engines.named("processes", "1") as executor:
    ...     len(st.simulate_many("z-ssd", st.workload("database"), requests=99, executor=executor))
    1
    """
    if name == "ray":
        return ray(address)
    if name == "dask":
        return dask(address)
    if name == "processes":
        return processes(address)
    raise UsageError(f"--engine {name}: no such engine; there are {', '.join(NAMES)}")


def processes(count: str | int | None = None) -> ProcessPoolExecutor:
    """Processes of this machine, begun afresh: a fork would copy locks of threads that it does not
    copy. As many as processors, unless ``count`` says otherwise."""
    try:
        workers = None if count is None else int(count)
        return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    except ValueError:
        raise UsageError(f"processes: {count!r} is no number of processes") from None


def ray(address: str | None = None, **options: Any) -> Executor:
    """A Ray cluster: ``"auto"`` for the one that this machine is part of, ``HOST:PORT``, or
    nothing for one of this machine alone. ``options`` go to ``ray.init``. Where Ray is connected
    already, that connection is used, and stays when the executor is shut down.

    Each trace is put into Ray's object store once, and comes to each node once. ssdtune must be
    installed on all nodes, in the same version.
    """
    return RayExecutor(address, options)


class RayExecutor(Executor):
    """Calls as tasks of Ray, a processor each. Ray itself repeats none: a call whose worker is lost
    is handed over again by whoever has it, so that the losses are counted."""

    def __init__(self, address: str | None, options: dict[str, Any]):
        # Both packages state their types in part only, so here they have none.
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise UsageError("ray: the package is not installed (pip install ray)") from None
        self._ray = ray
        self._is_own = not ray.is_initialized()
        if self._is_own:
            quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
            if address is None:
                quiet["include_dashboard"] = False
            try:
                _reach(address)
                # Where nothing is said, Ray would look for a cluster that somebody else began.
                ray.init(address or "local", **{**quiet, **options})
            except Exception as error:
                raise WorkError(f"ray at {address or 'this machine'}: {error}") from error
        self._call: Any = ray.remote(max_retries=0)(_called)

    @property
    def _max_workers(self) -> int:
        """The processors of the cluster as it is now."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        # As one argument, so that Ray does not look for references to resolve among them.
        reference = self._call.remote((fn, args, kwargs))
        future: Future[T] = reference.future()

        def give_up(ended: Future[T]) -> None:
            if ended.cancelled():
                self._ray.cancel(reference)

        future.add_done_callback(give_up)
        return future

    def share(self, trace: Any) -> RayObject:
        """Puts a trace into the object store."""
        return RayObject(self._ray.put(trace))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._is_own:
            self._is_own = False
            self._ray.shutdown()


def _reach(address: str | None) -> None:
    """Fails at once where nobody listens at HOST:PORT, which Ray waits minutes for."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


class RayObject:
    """An object in Ray's store."""

    def __init__(self, reference: Any):
        self.reference = reference

    def get(self) -> Any:
        """The object, from this node's memory."""
        return importlib.import_module("ray").get(self.reference)


def _called(packed: tuple[Callable[..., T], tuple[Any, ...], dict[str, Any]]) -> T:
    function, arguments, named_arguments = packed
    return function(*arguments, **named_arguments)


def dask(client: Any = None) -> Executor:
    """A Dask cluster: a ``distributed.Client``, the address of a scheduler, or nothing for
    processes of this machine. A client that is given is not closed when the executor is shut down.

    A trace is sent to a worker with the first cell that needs it there, unless they share a disk.
    """
    return DaskExecutor(client)


class DaskExecutor(Executor):
    """``client.get_executor()``, with what ssdtune has to know of it."""

    def __init__(self, client: Any):
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise UsageError(
                "dask: the package is not installed (pip install 'dask[distributed]')"
            ) from None
        self._is_own = not isinstance(client, distributed.Client)
        self._killed: type[Exception] = distributed.KilledWorker
        if self._is_own:
            here: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
            try:
                client = distributed.Client(client, timeout=30, **({} if client else here))
            except Exception as error:
                raise WorkError(f"dask at {client or 'this machine'}: {error}") from error
        self._client: Any = client
        # A call that is handed over again is another one, whose answer nobody has yet.
        self._inner: Executor = client.get_executor(pure=False)

    @property
    def _max_workers(self) -> int:
        """The threads of all workers as they are now."""
        threads: dict[str, int] = self._client.nthreads()
        return max(1, sum(threads.values()))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return self._inner.submit(fn, *args, **kwargs)

    def workers_lost(self, error: Exception) -> int:
        """How many workers a call has cost that failed with this. Dask repeats a call by itself,
        and gives up after more failures than it allows."""
        if isinstance(error, self._killed):
            return int(getattr(error, "allowed_failures", 0)) + 1
        return 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._is_own:
            self._is_own = False
            self._client.close()

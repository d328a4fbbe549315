"""``simulate`` and ``simulate_many``: what ``ssdtune simulate`` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Union

from . import _ssdtune
from ._engine import Engine
from ._errors import Error, UsageError
from ._result import Result, Results, Table, table
from ._ssdtune import Device, Trace, Workload
from ._worker import Call, TraceReference

Requests = Union[Trace, Workload, str, "os.PathLike[str]"]
"""Where requests come from: a trace in memory, a workload model, or the path of a trace file."""

Served = Union[Requests, Sequence[Requests]]
"""What a drive serves. A sequence are tenants that share it, with an address space each."""

Progress = Union[bool, Callable[[int, int], object]]
"""``True`` shows a bar of tqdm; a function is told how many cells of how many are done."""


def simulate(
    device: Device | str,
    trace: Served,
    *,
    start: str | None = None,
    age: Iterable[str] = (),
    erases: int | None = None,
    replay: str = "open",
    requests: int | None = None,
    time_scale: float | None = None,
    fit_addresses: str | None = None,
    channels: Iterable[str] = (),
    slowdown: bool = False,
    seed: int | None = None,
    log: bool | str | os.PathLike[str] = False,
    series: bool | str | os.PathLike[str] = False,
    interval: float = 100,
    save: str | os.PathLike[str] | None = None,
    restore: str | os.PathLike[str] | None = None,
    exact: bool = False,
    force: bool = False,
) -> Result:
    """Simulates what a drive does with requests.

    The options are those of ``ssdtune simulate``, with their names and defaults:

    - ``start``: what the drive holds: ``empty``, ``footprint`` (the default), ``sequential`` or
      ``steady``, the last two with a share, as in ``steady:0.8``; ``age``, ``erases``: what it has
      been through;
    - ``replay``: ``open`` (requests at their own times) or ``closed:N`` (always N at once);
    - ``requests``: the first ones alone (of a model a million if nothing is said);
    - ``time_scale``: a factor on all times; ``fit_addresses``: ``wrap`` or ``compact``;
    - ``channels``: those of each tenant, as in ``["0-3", "4-7"]``; ``slowdown``: also run each
      tenant alone;
    - ``seed``: of the drive and of the model;
    - ``log``, ``series``: ``True`` keeps a table with a row for each request, or for each
      ``interval`` of simulated milliseconds; a path writes it as CSV;
    - ``save``, ``restore``: a file for the prepared drive;
    - ``exact``: percentiles exactly, not within 0.1 %; ``force``: replace files that exist.

    A drive that runs out of free blocks is no exception: the result has
    ``outcome == "out-of-space"`` then.

    >>> import ssdtune as st
    >>> trace = st.workload("websearch").generate(2000)
    >>> result = st.simulate("intel-750", trace, start="steady", replay="closed:32")
    >>> result.outcome, result.total.all.requests
    ('completed', 2000)
    """
    options = _options(locals())
    ((raw, log_table, series_table, failure),) = _ssdtune.run_cells(
        [_device(device)], [_served(trace)], options, 2 if slowdown else 1, None
    )
    if failure is not None:
        raise failure
    return Result(raw, table(log_table), table(series_table))


def simulate_many(
    devices: Device | str | Sequence[Device | str],
    traces: Requests | Sequence[Served],
    *,
    threads: int | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
    **options: Any,
) -> Results:
    """Simulates every trace on every drive: each pair is a cell. Results are in the order of the
    traces, and for each trace in that of the drives.

    Cells run on threads, as many as processors unless ``threads`` says otherwise; or, with
    ``executor``, on any ``concurrent.futures.Executor``, in other processes or on other machines.
    The results are the same. The options are those of ``simulate``. An item of ``traces`` that is
    a sequence itself are tenants that share a drive.

    All cells run, even if one fails; then the exception of the first that failed is raised, and
    its attribute ``results`` has what the others gave.

    >>> import ssdtune as st
    >>> drives = st.Device("z-ssd").sweep(**{"bus.channels": [4, 8]})
    >>> results = st.simulate_many(drives, st.workload("database"), requests=500)
    >>> [result.settings["bus.channels"] for result in results]
    ['4', '8']
    """
    unknown = set(options) - set(_DEFAULTS)
    if unknown:
        raise UsageError(f"no such option of simulate: {', '.join(sorted(unknown))}")
    given = _options({**_DEFAULTS, **options})
    drives = [_device(one) for one in _each(devices)]
    served = [_served(one) for one in _each(traces)]
    with _told(progress, len(drives) * len(served)) as tell:
        if executor is None:
            tick = (lambda done, _: tell(done)) if progress else None
            ran = _ssdtune.run_cells(drives, served, given, threads, tick)
            answers = [_answer(one) for one in ran]
        else:
            answers = _elsewhere(executor, drives, served, given, tell)
        tell(len(answers))
    return _whole(answers)


def _elsewhere(
    executor: Executor,
    drives: list[Device],
    served: list[Any],
    options: dict[str, Any],
    tell: Callable[[int], None],
) -> list[Result | BaseException]:
    for name in ("log", "series"):
        if not isinstance(options[name], bool):
            raise UsageError(f"{name}: with an executor, True brings the table here")
    if options["save"] is not None:
        raise UsageError("save: no file is written by an executor")
    with Engine(executor) as engine:
        calls: list[Call] = []
        for item in served:
            sent = _sent(engine, item)
            for drive in drives:
                words = f"cell {len(calls)} ({drive.name}, {_words(item)}, {_stated(options)})"
                calls.append(Call(_cell, (drive, sent, options), words))
        found = engine.map(calls, lambda done, _: tell(done))
    return [
        one if isinstance(one, BaseException) else _numbered(place, *one)
        for place, one in enumerate(found)
    ]


def _cell(
    drive: Device, served: Any, options: dict[str, Any]
) -> tuple[str, Table | None, Table | None]:
    """What a worker does."""
    threads = 2 if options["slowdown"] else 1
    ((raw, log, series, failure),) = _ssdtune.run_cells([drive], [served], options, threads, None)
    if failure is not None:
        raise failure
    return raw.dump(), table(log), table(series)


def _numbered(number: int, text: str, log: Table | None, series: Table | None) -> Result:
    return Result(_ssdtune.RawResult.load(text, number), log, series)


def _answer(ran: _ssdtune.Ran) -> Result | BaseException:
    raw, log, series, failure = ran
    return failure if failure is not None else Result(raw, table(log), table(series))


def _whole(answers: list[Result | BaseException]) -> Results:
    failures = [one for one in answers if isinstance(one, BaseException)]
    if not failures:
        return Results(one for one in answers if isinstance(one, Result))
    first = failures[0]
    if isinstance(first, Error):
        first.add_note(f"{len(failures)} of {len(answers)} cells failed")
        first.results = answers
    raise first


_DEFAULTS: dict[str, Any] = {
    name: default
    for name, default in (simulate.__kwdefaults__ or {}).items()
}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options as the extension takes them."""
    options = {name: given[name] for name in _DEFAULTS}
    for name in ("age", "channels"):
        value = options[name]
        options[name] = [value] if isinstance(value, str) else list(value)
    options["interval"] = str(options["interval"])
    return options


def _stated(options: dict[str, Any]) -> str:
    """The options that are not as usual, in words."""
    usual = _options(_DEFAULTS)
    stated = [f"{name}={value}" for name, value in options.items() if value != usual[name]]
    return ", ".join(stated) or "no options"


def _device(device: Device | str) -> Device:
    return device if isinstance(device, Device) else Device(device)


def _each(items: Any) -> list[Any]:
    """One item or many, as a list."""
    one = isinstance(items, (Device, Trace, Workload, str, os.PathLike))
    return [items] if one else list(items)


def _served(item: Any) -> Any:
    if isinstance(item, (Trace, Workload, str, os.PathLike)):
        return item
    return list(item)


def _words(item: Any) -> str:
    if isinstance(item, list):
        return " + ".join(_words(one) for one in item)
    return item.name if isinstance(item, (Trace, Workload)) else str(item)


def _sent(engine: Engine, item: Any) -> Any:
    """What a drive serves, with traces by reference."""
    if isinstance(item, list):
        return [_sent(engine, one) for one in item]
    return engine.reference(item) if isinstance(item, Trace) else item


@contextmanager
def _told(progress: Progress, total: int) -> Iterator[Callable[[int], None]]:
    """A function that is told how many cells are done."""
    if callable(progress):
        told: Callable[[int, int], object] = progress
        yield lambda done: (told(done, total), None)[1]
        return
    if not progress:
        yield lambda done: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise UsageError("progress=True needs the package tqdm; a function needs none") from None
    with tqdm(total=total, unit="cell") as bar:
        yield lambda done: (bar.update(done - bar.n), None)[1]

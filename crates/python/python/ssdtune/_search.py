"""``search``, ``grade`` and ``Objective``: what ``ssdtune search`` and ``ssdtune grade`` do."""

from __future__ import annotations

import html
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypedDict, Union, Unpack

from . import _ssdtune
from ._engine import Engine
from ._errors import UsageError
from ._result import Record
from ._ssdtune import Device, Trace, Workload
from ._worker import Call, Referred

Named = Union[str, "os.PathLike[str]", Trace, Workload]
"""A workload: a bundled model by its name, a file by its path, ``NAME=FILE+FILE``, or a trace."""


class Evaluator(Protocol):
    """What measures drives for a search, written in Python. Any class with these methods will do.

    >>> import ssdtune as st
    >>> class ByChannels:
    ...     def identity(self) -> str:
    ...         return "by channels, version 1"
    ...
    ...     def measure(self, device: st.Device, trace: st.Trace, depth: int) -> tuple[float, float]:
    ...         return 1e6 / device["bus.channels"], 1e8 * device["bus.channels"]
    >>> drive = st.Device("intel-750", **{"bus.channels": 24})
    >>> grades = st.grade(drive, target="websearch", others="none", requests=300,
    ...                   space="autoblox", evaluator=ByChannels(), no_db=True)
    >>> round(grades[0].target.latency, 9)
    2.0
    """

    def identity(self) -> str:
        """Everything about it that decides a result: part of the keys under which AutoDB stores."""
        ...

    def measure(self, device: Device, trace: Trace, depth: int) -> tuple[float, float]:
        """Latency in nanoseconds and throughput in bytes per second of a drive on a trace, with
        ``depth`` requests outstanding in the closed loop. Equal questions need equal answers.
        ``Unfit`` says that the drive cannot serve the trace. It is called from several threads.
        """
        ...


class Proposer(Protocol):
    """An algorithm of a search, written in Python: ``st.search(..., algorithm=mine)``. Any class
    with this method will do.

    >>> import ssdtune as st
    >>> class Channels:
    ...     def propose(self, trials: list[st.Record], count: int) -> list[dict[str, int]]:
    ...         best = max(trials, key=lambda trial: trial.grade)
    ...         tried = {trial["values"]["bus.channels"] for trial in trials}
    ...         near = [best["values"]["bus.channels"] + step for step in (-2, 2, 4)]
    ...         return [{"bus.channels": own} for own in near if own not in tried and 4 <= own <= 32]
    >>> found = st.search("websearch", others="none", requests=300, budget=6, space="autoblox",
    ...                   algorithm=Channels(), no_db=True)
    >>> found.grade >= 0
    True
    """

    def propose(self, trials: list[Record], count: int) -> Iterable[Mapping[str, Any]]:
        """The points to be measured next, up to ``count`` (the ``batch`` of the search): dictionaries
        of axes and values, as for ``Objective``, whose ``axes`` are those of the search. An empty
        list ends the search.

        ``trials`` are all that were measured, the baseline first: ``values`` by axis, ``grade``
        (``None`` where there is none), ``performance`` on the target, ``verdict`` and what else
        the document of a search has of a trial.
        """
        ...


class TuneOptions(TypedDict, total=False):
    """The options of ``search``, ``grade`` and ``Objective``: the flags of the commands, with
    their names and defaults (``ssdtune search --help`` describes them)."""

    others: Named | Sequence[Named]
    device: Device | str | None
    requests: int | None
    seed: int | None
    trace_seed: int | None
    search_seed: int | None
    space: str | os.PathLike[str] | None
    parts: Sequence[str | os.PathLike[str]]
    constraints: str | os.PathLike[str] | None
    power_budget: float | None
    capacity: str | int | None
    usable_capacity: str | int | None
    max_price: str | float | None
    dram_budget: str | int | None
    require: str | Sequence[str]
    alpha: float
    beta: float
    grade_latency: str
    robust: bool
    depth: Mapping[str, int]
    strict: bool
    fit_addresses: str | None
    start: str | None
    age: str | Sequence[str]
    erases: int | None
    evaluator: Evaluator | str | None
    timeout: int
    retries: int
    db: str | os.PathLike[str] | None
    no_db: bool


class SearchOptions(TuneOptions, total=False):
    """The options of ``search``."""

    max_harm: float
    algorithm: str | Proposer
    budget: float
    batch: int
    top: int
    manhattan: int
    descent: int
    iterations: int
    exploration: float
    convergence: float
    patience: int
    prefix: int | None
    resume: bool
    ignore_pruning: bool
    ignore_order: bool
    aim: str | Sequence[str]
    pick: str


_TUNE: dict[str, Any] = {
    "others": (), "device": None, "requests": None, "seed": None, "trace_seed": None,
    "search_seed": None, "space": None, "parts": (), "constraints": None, "power_budget": None,
    "capacity": None, "usable_capacity": None, "max_price": None, "dram_budget": None,
    "require": (), "alpha": 0.5, "beta": 0.1, "grade_latency": "mean", "robust": False,
    "depth": {}, "strict": False, "fit_addresses": None, "start": None, "age": (), "erases": None,
    "evaluator": None, "timeout": 600, "retries": 1, "db": None, "no_db": False, "max_harm": None,
}  # fmt: skip
_SEARCH: dict[str, Any] = {
    "algorithm": "bayes", "budget": 60.0, "batch": 4, "top": 3, "manhattan": 5, "descent": 10,
    "iterations": 5, "exploration": 8.0, "convergence": 0.01, "patience": 15, "prefix": None,
    "resume": False, "ignore_pruning": False, "ignore_order": False, "aim": (),
    "pick": "knee",
}  # fmt: skip
_MAX_HARM = 0.02


class SearchResult:
    """The drive that a search recommends, with its evidence. The fields of the document are
    attributes; ``docs/results-schema.md`` describes them."""

    def __init__(self, raw: _ssdtune.RawRecommendation):
        self._raw = raw
        self._fields = Record(json.loads(raw.json))

    @property
    def device(self) -> Device:
        """The recommended drive."""
        return Device.from_toml(self._raw.files["recommended.toml"])

    @property
    def notes(self) -> list[str]:
        """What is to be known beside the result, a sentence each."""
        return self._raw.notes

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files that ``ssdtune search --out`` writes, by their names."""
        return self._raw.files

    def write(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes these files into a directory. Files that exist are replaced with ``force``."""
        folder = Path(directory)
        there = [name for name in self.files if (folder / name).exists()]
        if there and not force:
            raise UsageError(f"{folder / there[0]} exists: force=True replaces it")
        _ssdtune.write_files(folder, self.files)

    def to_json(self) -> str:
        """The document of ``ssdtune search --json``."""
        return self._raw.json

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        document: dict[str, Any] = json.loads(self._raw.json)
        return document

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._fields, name)

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._fields]

    def __str__(self) -> str:
        return self._raw.text

    def __repr__(self) -> str:
        return f"<ssdtune.SearchResult grade {self.grade:.4f}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Grades(list[Record]):
    """The grades of drives, a record for each, with the document of ``ssdtune grade --json``."""

    def __init__(self, json_text: str, text: str):
        super().__init__(Record(one) for one in json.loads(json_text))
        self._json = json_text
        self._text = text

    def to_json(self) -> str:
        """The document of ``ssdtune grade --json``, to the byte."""
        return self._json

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def search(
    target: Named,
    *,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[float, float, float | None, str], object] = False,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Finds a drive that serves a workload better than the baseline, and proves it.

    The options are the flags of ``ssdtune search``, with their names and defaults; ``db`` is
    ``$SSDTUNE_DB`` or ``ssdtune.autodb``, as for the command, and ``no_db=True`` remembers nothing.
    The same options and seeds give the same answer, whoever measures:

    - ``threads`` in this process, as many as processors if nothing is said;
    - with ``executor`` the workers of any ``concurrent.futures.Executor``, to which each
      measurement is handed. Only this process writes AutoDB;
    - with ``evaluator`` another simulator (a command line, as for the command) or an
      ``Evaluator`` of yours.

    ``algorithm`` is the name of one that is here, or a ``Proposer`` of yours. Of the latter no
    search is stored to go on with; AutoDB keeps its measurements.

    ``progress`` is ``True`` for a bar of tqdm, or a function that is told the evaluations spent,
    those allowed, the best grade so far and all of it in words.

    >>> import ssdtune as st
    >>> found = st.search("websearch", others="none", requests=300, budget=14, space="autoblox",
    ...                   no_db=True)
    >>> found.grade > 0, found.device.name
    (True, 'intel-750-for-websearch')
    """
    flags = _flags(target, options, _TUNE | _SEARCH | {"max_harm": _MAX_HARM})
    own = {name: flags[name] for name in _SEARCH}
    own["aim"] = _texts(own["aim"])
    proposing = None
    if not isinstance(own["algorithm"], str):
        proposing, own["algorithm"] = _proposing(own["algorithm"]), "own"
    with _measuring(flags, executor, threads) as (measuring, workers), _told(progress) as tick:
        return SearchResult(_ssdtune.run_search(flags, own, measuring, workers, tick, proposing))


def grade(
    drives: Device | str | Sequence[Device | str],
    *,
    target: Named,
    held_out: bool = False,
    threads: int | None = None,
    executor: Executor | None = None,
    **options: Unpack[TuneOptions],
) -> Grades:
    """Grades drives against the baseline on a target and others, without a search; the options are
    the flags of ``ssdtune grade``. A drive that cannot serve them has a ``reason`` and no grade.

    >>> import ssdtune as st
    >>> grades = st.grade(["intel-750", "z-ssd"], target="websearch", others="none", requests=300,
    ...                   space="autoblox", no_db=True)
    >>> grades[0].grade, grades[1].grade > 1
    (0.0, True)
    """
    flags = _flags(target, options, _TUNE)
    given = [drives] if isinstance(drives, (Device, str)) else list(drives)
    named = [
        (one.name, one) if isinstance(one, Device) else (one, Device(one)) for one in given
    ]
    with _measuring(flags, executor, threads) as (measuring, workers):
        return Grades(*_ssdtune.run_grade(flags, named, held_out, measuring, workers))


class Objective:
    """The grade as a function of points, for any optimiser: the numbers that the searches of
    ssdtune maximise. A point is a dictionary of axes and values; what it leaves out is as in the
    baseline. With Optuna:

        objective = st.Objective("websearch", others=["database"], requests=5000)
        study = optuna.create_study(direction="maximize")
        study.optimize(lambda trial: objective(objective.suggest(trial)), n_trials=50)

    The options are the flags of ``ssdtune grade``. The baseline is measured at once.

    >>> import ssdtune as st
    >>> objective = st.Objective("websearch", others="none", requests=300, space="autoblox",
    ...                          no_db=True)
    >>> objective({}), objective({"bus.channels": 8}) != 0
    (0.0, True)
    """

    def __init__(
        self,
        target: Named,
        *,
        repair: bool = True,
        threads: int | None = None,
        executor: Executor | None = None,
        **options: Unpack[TuneOptions],
    ):
        flags = _flags(target, options, _TUNE)
        self._repair = repair
        self._open = ExitStack()
        measuring, workers = self._open.enter_context(_measuring(flags, executor, threads))
        # Whoever forgets to close it leaves no folder behind.
        self._close = weakref.finalize(self, self._open.close)
        self._raw = _ssdtune.RawObjective(flags, measuring, workers)

    @property
    def axes(self) -> list[Record]:
        """The axes: ``key``, ``ordered``, ``unit``, ``values``, ``baseline``."""
        return [Record(axis) for axis in self._raw.axes]

    def grade(self, point: Mapping[str, Any], *, repair: bool | None = None) -> Record:
        """What is known of a point: ``grade`` and the figures that it is made of, or the
        ``reason`` why there is none. With ``repair`` a point that breaks the limits is moved to
        the nearest one that keeps them, and ``repaired`` says what was changed.

        Raises ``UsageError`` for what is no point of the space.
        """
        moved = self._repair if repair is None else repair
        text, wrong = self._raw.ask(json.dumps(dict(point)), moved)
        if wrong is not None:
            raise UsageError(wrong)
        return Record(json.loads(text))

    def __call__(self, point: Mapping[str, Any]) -> float:
        """The grade of a point; minus infinity where there is none."""
        answer = self.grade(point)
        return float(answer.grade) if "grade" in answer else float("-inf")

    def suggest(self, trial: Any) -> dict[str, Any]:
        """A point of a trial of Optuna: every axis as one of its values."""
        return {axis.key: trial.suggest_categorical(axis.key, axis["values"]) for axis in self.axes}

    def close(self) -> None:
        """Lets go of the executor's helpers. Nothing can be asked afterwards."""
        self._raw.close()
        self._close()

    def __enter__(self) -> Objective:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _flags(target: Named, options: Mapping[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The options as the extension takes them."""
    unknown = set(options) - set(known)
    if unknown:
        raise UsageError(f"no such option: {', '.join(sorted(unknown))}")
    flags = {**_TUNE, **known, **options}
    if flags["db"] is not None and flags["no_db"]:
        raise UsageError("db and no_db contradict each other")
    if flags["db"] is None:
        flags["db"] = os.environ.get("SSDTUNE_DB", "ssdtune.autodb")
    if flags["device"] is not None and not isinstance(flags["device"], Device):
        flags["device"] = Device(flags["device"])
    flags["target"] = _named(target)
    others = flags["others"]
    alone = isinstance(others, (str, os.PathLike, Trace, Workload))
    flags["others"] = [_named(one) for one in ([others] if alone else others)]
    for name in ("require", "age", "parts"):
        flags[name] = _texts(flags[name])
    for name in ("capacity", "usable_capacity", "dram_budget", "max_price", "space"):
        flags[name] = None if flags[name] is None else str(flags[name])
    flags["depth"] = list(dict(flags["depth"]).items())
    return flags


def _named(workload: Named) -> Any:
    """A workload by its name, or a trace. A model is known by its name alone."""
    if not isinstance(workload, Workload):
        return workload
    if workload.name in _ssdtune.workloads() and Workload(workload.name) == workload:
        return workload.name
    raise UsageError(f"{workload.name} is no bundled model: give the path of its file")


def _texts(value: Any) -> list[Any]:
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


@contextmanager
def _measuring(
    flags: dict[str, Any], executor: Executor | None, threads: int | None
) -> Iterator[tuple[Any, int | None]]:
    """Who measures, and on how many threads this process waits for it."""
    evaluator = flags["evaluator"]
    if executor is None:
        if evaluator is None or isinstance(evaluator, str):
            yield evaluator, threads
        else:
            yield (_asked(evaluator), evaluator.identity()), threads
        return
    if evaluator is not None:
        raise UsageError("evaluator and executor: give one of them")
    with handed(executor) as (make, workers):
        yield (make,), workers if threads is None else threads


@contextmanager
def handed(executor: Executor) -> Iterator[tuple[_ssdtune.Make, int]]:
    """A function that makes, from the words for how to measure, one that has an executor measure;
    and how many measurements the executor works on at once."""
    with Engine(executor) as engine:

        def make(how: _ssdtune.How) -> Callable[..., str]:
            def ask(
                device: Device,
                trace: Referred,
                depth: int,
                flag: _ssdtune.Flag,
                drawn: Sequence[tuple[int, float]] = (),
            ) -> str:
                words = f"{device.name} on {trace.name}, {depth} at once"
                arguments = (device, engine.reference(trace), depth, how, list(drawn))
                found: str = engine.run(Call(_ssdtune.measure, arguments, words), flag.is_set)
                return found

            return ask

        yield make, engine.workers


def _proposing(proposer: Proposer) -> Callable[[str, int], str]:
    """A proposer as the extension asks it: all trials as JSON, and points as JSON."""

    def ask(known: str, count: int) -> str:
        trials = [Record(one) for one in json.loads(known)]
        points = proposer.propose(trials, count)
        return json.dumps([{axis: _text(value) for axis, value in one.items()} for one in points])

    return ask


def _text(value: Any) -> str:
    """A value of an axis as the command line has it."""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _asked(evaluator: Evaluator) -> Callable[..., tuple[float, float]]:
    def ask(device: Device, trace: Trace, depth: int, _: object) -> tuple[float, float]:
        latency, throughput = evaluator.measure(device, trace, depth)
        return float(latency), float(throughput)

    return ask


@contextmanager
def _told(
    progress: bool | Callable[[float, float, float | None, str], object],
) -> Iterator[Callable[[float, float, float | None, str], object] | None]:
    """A function that is told how far a search is."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise UsageError("progress=True needs the package tqdm; a function needs none") from None
    with tqdm(unit="evaluation") as bar:

        def show(spent: float, budget: float, _: float | None, words: str) -> None:
            bar.total = budget
            bar.n = spent
            bar.set_postfix_str(words)

        yield show

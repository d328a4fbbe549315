"""Searches and grades: the command's results, whoever measures; Python that measures and asks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest

import ssdtune as st

from .conftest import Command
from .test_many import Elsewhere

# Drives of the paper's space begin empty but for what is touched, which takes no time.
QUICK: dict[str, Any] = {"others": "none", "requests": 300, "space": "autoblox"}
SMALL: dict[str, Any] = {**QUICK, "no_db": True}
FLAGS = ["--others", "none", "--requests", "300", "--space", "autoblox"]


def timeless(text: str | bytes) -> str:
    """A document without what differs between runs: its seconds."""
    document = json.loads(text)
    assert document["effort"].pop("seconds") >= 0
    return json.dumps(document)


def test_a_search_is_that_of_the_command(command: Command, tmp_path: Path) -> None:
    flags = ["--budget", "12", "--seed", "3", "--json", "--quiet", "--db", tmp_path / "a"]
    told = command("search", "--target", "websearch", *FLAGS, *flags)
    assert told.returncode == 0, told.stderr
    options: dict[str, Any] = {**QUICK, "budget": 12, "seed": 3}
    found = st.search("websearch", **options, db=tmp_path / "b")
    assert timeless(found.to_json()) == timeless(told.stdout)
    assert found.grade == json.loads(told.stdout)["grade"] > 0
    assert found.device != st.Device("intel-750") and "grade" in dir(found)
    assert "recommended.toml" in found.files and str(found) and "<pre>" in found._repr_html_()
    # What the command has stored answers Python.
    again = st.search("websearch", **options, db=tmp_path / "a", resume=True)
    assert again.effort.run == 0 and again.grade == found.grade


def test_a_search_of_what_can_be_bought_is_that_of_the_command(command: Command) -> None:
    flags = ["--others", "none", "--requests", "100", "--budget", "3", "--max-price", "1.2x"]
    flags += ["--aim", "latency,price", "--pick", "price=1.1x", "--no-db", "--json", "--quiet"]
    told = command("search", "--target", "websearch", *flags)
    assert told.returncode == 0, told.stderr
    found = st.search(
        "websearch", others="none", requests=100, budget=3, max_price="1.2x",
        aim=["latency", "price"], pick="price=1.1x", no_db=True,
    )  # fmt: skip
    assert timeless(found.to_json()) == timeless(told.stdout)


def test_a_trace_in_memory_is_the_file_of_its_name(command: Command, csv: Path) -> None:
    flags = ["--others", "none", "--no-db", "--budget", "8", "--json", "--quiet"]
    told = command("search", "--target", csv, "--space", "autoblox", *flags)
    assert told.returncode == 0, told.stderr
    trace = st.Trace.read(csv)
    found = st.search(trace, others="none", no_db=True, budget=8, space="autoblox")
    assert timeless(found.to_json()) == timeless(told.stdout)


@pytest.mark.parametrize("kind", ["threads", "processes", "elsewhere"])
def test_who_measures_does_not_matter(kind: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {**QUICK, "others": "database", "budget": 10}
    here = st.search("websearch", **options, db=tmp_path / "here")
    make: Any = {
        "threads": lambda: ThreadPoolExecutor(3),
        "processes": lambda: ProcessPoolExecutor(2),
        # Workers that are lost on the way, and answer out of order.
        "elsewhere": lambda: Elsewhere([3, 9, 10, 20]),
    }[kind]
    with make() as executor:
        there = st.search("websearch", **options, db=tmp_path / "there", executor=executor)
    assert timeless(there.to_json()) == timeless(here.to_json())


def test_files_are_written_and_not_replaced(tmp_path: Path) -> None:
    found = st.search("websearch", **SMALL, budget=8)
    found.write(tmp_path / "out")
    assert st.Device(tmp_path / "out" / "recommended.toml") == found.device
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == found.to_dict()
    with pytest.raises(st.UsageError, match="exists"):
        found.write(tmp_path / "out")
    found.write(tmp_path / "out", force=True)


def test_progress_is_told() -> None:
    told: list[tuple[float, float, float | None, str]] = []
    st.search("websearch", **SMALL, budget=8, progress=lambda *at: told.append(at))
    st.search("websearch", **SMALL, budget=8, progress=True)
    assert told and all(spent <= 8 == budget for spent, budget, _, _ in told)


def test_grades_are_those_of_the_command(command: Command) -> None:
    names = ["intel-750", "z-ssd"]
    told = command("grade", "--target", "websearch", *FLAGS, "--no-db", "--json", *names)
    assert told.returncode == 0, told.stderr
    grades = st.grade(["intel-750", st.Device("z-ssd")], target="websearch", **SMALL)
    assert grades.to_json().encode() == told.stdout
    assert grades[0].grade == 0 and grades[1].target.latency > 1
    text = command("grade", "--target", "websearch", *FLAGS, "--no-db", *names, "--quiet")
    assert text.stdout.decode().rstrip("\n") == str(grades).rstrip("\n")
    held_out = st.grade("z-ssd", target="websearch", held_out=True, **SMALL)
    assert held_out[0].grade != grades[1].grade


class ByChannels:
    """An evaluator: more channels are faster, and 40 are too many."""

    def __init__(self) -> None:
        self.asked = 0
        self.lock = threading.Lock()

    def identity(self) -> str:
        return "by channels"

    def measure(self, device: st.Device, trace: st.Trace, depth: int) -> tuple[float, float]:
        with self.lock:
            self.asked += 1
        channels = device["bus.channels"]
        assert isinstance(channels, int) and len(trace) in (30, 300) and depth >= 1
        if channels >= 40:
            raise st.Unfit("too many channels")
        return 1e6 / channels, 1e8 * channels


def test_an_evaluator_in_python_is_asked_once_for_each_drive(tmp_path: Path) -> None:
    own = ByChannels()
    found = st.search("websearch", **QUICK, budget=20, evaluator=own, db=tmp_path / "db")
    assert found.grade > 0 and own.asked > 10
    again = ByChannels()
    options: dict[str, Any] = {**QUICK, "budget": 20, "db": tmp_path / "db"}
    same = st.search("websearch", **options, evaluator=again, resume=True)
    assert same.grade == found.grade and again.asked == 0
    many = st.Device("intel-750", **{"bus.channels": 40})
    assert "too many" in st.grade(many, target="websearch", evaluator=own, **SMALL)[0].reason


def test_exceptions_of_an_evaluator_are_its_own() -> None:
    class Broken(ByChannels):
        def measure(self, device: st.Device, trace: st.Trace, depth: int) -> tuple[float, float]:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        st.search("websearch", **SMALL, evaluator=Broken())
    with pytest.raises(st.UsageError, match="config.xml"):
        st.search("websearch", **SMALL, evaluator="no-placeholders")


def test_an_objective_answers_as_the_command_does(command: Command) -> None:
    points = [{}, {"bus.channels": 8}, {"bus.channels": 7}]
    lines = "".join(json.dumps(point) + "\n" for point in points)
    told = command(
        "grade", "--target", "websearch", *FLAGS, "--no-db", "--points", "--repair",
        input=lines.encode(),
    )  # fmt: skip
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    with st.Objective("websearch", **SMALL) as objective:
        for point, answer in zip(points[:2], answers):
            own = objective.grade(point).to_dict()
            assert {**own, "drive": None} == {**answer, "drive": None}
        with pytest.raises(st.UsageError, match="legal are"):
            objective.grade(points[2])
        assert objective({}) == 0.0
        axis = next(axis for axis in objective.axes if axis.key == "bus.channels")
        assert axis.ordered and 8 in axis["values"]
    with pytest.raises(st.WorkError, match="closed"):
        objective({})


def test_optuna_takes_five_lines() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    objective = st.Objective("websearch", **SMALL)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1)
    )
    study.optimize(lambda trial: objective(objective.suggest(trial)), n_trials=5)
    assert len(study.trials) == 5 and study.best_value > float("-inf")


@pytest.mark.parametrize(
    "wrong",
    [
        {"algorithm": "magic"},
        {"alpha": 2.0},
        {"budgt": 3},
        {"space": "nowhere"},
        {"max_price": "x"},
        {"depth": {"nobody": 3}},
        {"batch": 0},
        {"db": "x"},
        {"start": "empty", "age": "random"},
    ],
)
def test_what_is_wrong_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(st.UsageError):
        st.search("websearch", **{**SMALL, **wrong})


def test_workloads_that_are_not_there_are_told() -> None:
    with pytest.raises(st.UsageError, match="did you mean `websearch`"):
        st.search("websearc", **SMALL)
    with pytest.raises(st.DataError, match="no-such.csv"):
        st.search("no-such.csv", **SMALL)


def test_ctrl_c_ends_a_search() -> None:
    script = (
        "import ssdtune as st\n"
        "print('ready', flush=True)\n"
        "st.search('websearch', no_db=True, budget=10**5, patience=10**5)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode != 0 and "KeyboardInterrupt" in said


class Neighbours:
    """Proposes what is near the best drive so far, one axis after the other."""

    def __init__(self, axes: list[st.Record]):
        self.axes = [axis for axis in axes if axis.ordered and axis["baseline"] is not None]
        self.asked: list[int] = []

    def propose(self, trials: list[st.Record], count: int) -> list[dict[str, Any]]:
        self.asked.append(len(trials))
        best = max(trials, key=lambda trial: trial.grade)
        points = []
        for axis in self.axes[len(self.asked) % 5 :: 5][:count]:
            values = axis["values"]
            place = values.index(best["values"][axis.key])
            points.append({axis.key: values[(place + 1) % len(values)]})
        return points


def test_an_algorithm_of_python_searches(tmp_path: Path) -> None:
    options: dict[str, Any] = {**QUICK, "budget": 8, "batch": 3}
    with st.Objective("websearch", **QUICK, no_db=True) as objective:
        axes = objective.axes
    one, other = Neighbours(axes), Neighbours(axes)
    found = st.search("websearch", **options, db=tmp_path / "db", algorithm=one)
    assert found.grade >= 0 and len(found.device.settings) >= 0
    assert one.asked[0] == 1 and one.asked == sorted(one.asked) and 8 <= one.asked[-1] + 3
    assert '"algorithm": "own"' in found.to_json()
    # The same again, elsewhere: what is measured does not depend on who measures.
    with ThreadPoolExecutor(2) as pool:
        again = st.search("websearch", **options, no_db=True, algorithm=other, executor=pool)
    documents = [json.loads(timeless(one.to_json())) for one in (found, again)]
    assert documents[0]["curve"] == documents[1]["curve"]
    assert found.device.settings == again.device.settings


def test_what_is_wrong_with_an_algorithm_is_told() -> None:
    class Wrong:
        def __init__(self, points: list[dict[str, Any]] | None):
            self.points = points

        def propose(self, trials: list[st.Record], count: int) -> list[dict[str, Any]]:
            if self.points is None:
                raise RuntimeError("no idea")
            return self.points

    options: dict[str, Any] = {**QUICK, "budget": 3, "no_db": True}
    with pytest.raises(RuntimeError, match="no idea"):
        st.search("websearch", **options, algorithm=Wrong(None))
    with pytest.raises(st.UsageError, match="bus.chanels is no axis"):
        st.search("websearch", **options, algorithm=Wrong([{"bus.chanels": 4}]))
    with pytest.raises(st.UsageError, match="legal are"):
        st.search("websearch", **options, algorithm=Wrong([{"bus.channels": 7000}]))
    with pytest.raises(st.UsageError, match="own knows the grade alone"):
        st.search("websearch", **options, algorithm=Wrong([]), aim=["latency", "price"])
    nothing = st.search("websearch", **options, algorithm=Wrong([]))
    assert nothing.grade == 0

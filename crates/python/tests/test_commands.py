"""``ssdtune.commands``: every subcommand as a function, and its documents to the byte."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ssdtune as st
from ssdtune import _command

from .conftest import Command

DRIVE = ["--device", "z-ssd"]


def test_the_stub_is_that_of_the_command_line() -> None:
    stub = Path(_command.__file__).with_name("commands.pyi")
    assert stub.read_text() == _command.stub(), "make it again: its first line says how"


def every(command: _command.Command) -> Iterator[_command.Command]:
    if not command.below:
        yield command
    for below in command.below.values():
        yield from every(below)


def test_every_subcommand_is_a_function_that_says_what_it_does() -> None:
    count = 0
    for command in every(_command.program()):
        own: Any = st.commands
        for word in command.words:
            own = getattr(own, _command.named(word))
        assert callable(own) and own.__doc__.count("\n- ") == len(command.arguments)
        assert len(inspect.signature(own).parameters) > len(command.arguments)
        count += 1
    assert count > 40
    assert "keeper" in dir(st.commands)
    with pytest.raises(AttributeError, match="no command sarch"):
        st.commands.sarch  # type: ignore[attr-defined]


def test_documents_are_those_of_the_command(command: Command, csv: Path) -> None:
    pairs: list[tuple[_command.Answer, list[Any]]] = [
        (st.commands.config.show("z-ssd"), ["config", "show", "z-ssd"]),
        (
            st.commands.config.show("z-ssd", set=["bus.channels=4", "gc.policy=fifo"], full=True),
            ["config", "show", "z-ssd", "--full"]
            + ["--set", "bus.channels=4", "--set", "gc.policy=fifo"],
        ),
        (st.commands.trace.info(csv), ["trace", "info", csv]),
        (
            st.commands.simulate(device="z-ssd", trace=[csv, csv], tenants=True, replay="closed:4"),
            ["simulate", *DRIVE, "--tenants", "--replay", "closed:4", "--trace", csv, csv],
        ),
        (
            st.commands.predict_perf.grid(sample=9, seed=3),
            ["predict-perf", "grid", "--sample", "9", "--seed", "3"],
        ),
    ]
    for answer, words in pairs:
        assert answer.to_json().encode() == command(*words, "--json").stdout, words


def test_what_python_has_in_memory_is_read_as_a_file(csv: Path) -> None:
    drive = st.Device("z-ssd", **{"bus.channels": 4})
    trace = st.Trace.read(csv)
    answer = st.commands.simulate(device=drive, trace=trace, start="empty")
    here = st.simulate(drive, trace, start="empty")
    assert answer.cells[0].report.total.to_dict() == here.total.to_dict()
    model = st.commands.trace.generate(
        st.workload("database"), requests=300, output=csv.with_name("b.csv")
    )
    assert model.requests == 300 and csv.with_name("b.csv").exists()


def test_categories_are_learned_and_told(tmp_path: Path) -> None:
    db = tmp_path / "db"
    oltp = st.workload("database").generate(20_000)
    st.commands.workload.learn(("oltp", oltp), "websearch", db=db)
    trace = st.workload("database").generate(20_000, seed=5)
    told = st.commands.workload.classify(trace, db=db)
    assert told[0].name == "oltp" and any("classified" in note for note in told.notes)


def test_what_the_command_refuses_is_raised(tmp_path: Path) -> None:
    with pytest.raises(st.UsageError, match="no such option: mixs"):
        st.commands.keeper.label(out=tmp_path / "a", mixs=3)  # type: ignore[call-arg]
    with pytest.raises(st.UsageError, match="missing a required argument: 'out'"):
        st.commands.keeper.label()  # type: ignore[call-arg]
    with pytest.raises(st.UsageError, match="from 1 to 1000000$"):
        st.commands.keeper.label(mixes=0, out=tmp_path / "a")
    with pytest.raises(st.DataError) as caught:
        st.commands.trace.info(tmp_path / "none.csv")
    assert caught.value.faults[0].file == str(tmp_path / "none.csv")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[bus]\nchannels = 0\n[gc]\nthreshold = 9\n")
    with pytest.raises(st.DataError) as caught:
        st.commands.simulate(device=wrong, workload="database", requests=9)
    assert [fault.line for fault in caught.value.faults] == [2, 4]


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    code = (
        "import ssdtune as st, sys\n"
        "print('begun', flush=True)\n"
        "st.commands.simulate(device='z-ssd', workload='database', requests=10**9, start='empty')\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(1.5)
    below = subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    for pid in map(int, below.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_black_box_models_predict_what_the_command_predicts(
    command: Command, tmp_path: Path, csv: Path
) -> None:
    points, file = tmp_path / "points.jsonl", tmp_path / "model.json"
    small: dict[str, Any] = {"pages": 500, "requests_min": 50, "requests_max": 100, "rounds": 1}
    st.commands.predict_perf.sweep(device="z-ssd", sample=140, out=points, **small)
    st.commands.predict_perf.fit(points, train=110, out=file)
    model = st.BlackBoxModel(file)
    predict = ["predict-perf", "predict", "--model", file, "--json"]
    name = "w50-q16-W4k.r100-R4k.r100"
    own = st.commands.predict_perf.predict(model=file, point=name)
    assert own.to_json().encode() == command(*predict, "--point", name).stdout
    assert model.predict(name).to_dict() == own.to_dict()
    grid = command("predict-perf", "grid").stdout.decode().split()
    many = model.predict_many(grid)
    listed = st.commands.predict_perf.predict(model=file, points="closed")
    assert many["iops"].tolist() == [line.iops for line in listed]
    windows = st.commands.predict_perf.predict(model=file, trace=csv, depth=4, window=100)
    found = model.predict_trace(st.Trace.read(csv), depth=4, window=100)
    assert [one.to_dict() for one in found] == windows.to_dict()
    with pytest.raises(st.UsageError, match="w50-q16"):
        model.predict("w50-q16")
    with pytest.raises(st.UsageError, match="closed loop"):
        model.predict(name, rate=5.0)
    with pytest.raises(st.DataError):
        st.BlackBoxModel(points)

"""``python -m ssdtune`` is the command itself: the same output, the same exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import Command


def python(*arguments: object) -> "subprocess.CompletedProcess[bytes]":
    words = [sys.executable, "-m", "ssdtune", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        ([], 2),
        (["config", "show", "intel-750"], 0),
        (["simulate", "--device", "z-ssd", "--workload", "database", "--requests", "99"], 0),
        (["config", "show", "no-such-drive"], 2),
        (["simulate", "--json", "--no-such-flag"], 2),
        (["config", "check", "no/such.toml", "--json"], 3),
        (["trace", "info", "no-such.csv"], 3),
    ],
)
def test_output_and_exit_code_are_the_commands(
    command: Command, words: list[str], code: int
) -> None:
    own, other = python(*words), command(*words)
    assert own.returncode == other.returncode == code
    assert own.stdout == other.stdout and own.stderr == other.stderr


def test_ctrl_c_keeps_what_is_done() -> None:
    words = ["simulate", "--device", "intel-750", "--workload", "database", "--json"]
    words += ["--requests", str(10**9), "--start", "empty"]
    child = subprocess.Popen(
        [sys.executable, "-m", "ssdtune", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    out, said = child.communicate(timeout=20)
    assert child.returncode == 130 and b"interrupted" in said
    assert json.loads(out)["partial"] is True


def test_children_of_the_command_are_the_command(tmp_path: Path) -> None:
    out = tmp_path / "profile.jsonl"
    words = ["predict-perf", "ftl", "profile", "--out", out, "--events", "none"]
    words += ["--size", "small", "--groups-max", "1", "--scale", "1", "--repeats", "1"]
    told = python(*words, "--workloads", "RW")
    assert told.returncode == 0 and out.read_text().count("\n") > 1, told.stderr
    assert os.path.exists(out)

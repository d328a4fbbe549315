"""One simulation: the command's results to the byte, tables, and everything that is refused."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ssdtune as st

from .conftest import Command

CASES = [
    ({}, []),
    ({"start": "steady", "replay": "closed:32"}, ["--start", "steady", "--replay", "closed:32"]),
    (
        {"start": "sequential:0.01", "age": ["random:1"], "time_scale": 0.5, "requests": 200},
        ["--start", "sequential:0.01", "--age", "random:1"]
        + ["--time-scale", "0.5", "--requests", "200"],
    ),
    ({"start": "empty", "exact": True, "seed": 7}, ["--start", "empty", "--exact", "--seed", 7]),
    ({"fit_addresses": "compact"}, ["--fit-addresses", "compact"]),
    ({"start": "steady:0.5", "erases": 9}, ["--start", "steady:0.5", "--erases", "9"]),
]


@pytest.mark.parametrize(("options", "flags"), CASES)
def test_documents_are_those_of_the_command(
    command: Command, csv: Path, options: dict[str, object], flags: list[str]
) -> None:
    told = command("simulate", "--device", "z-ssd", "--trace", csv, "--json", *flags)
    assert told.returncode == 0, told.stderr
    in_memory = st.simulate("z-ssd", st.Trace.read(csv), **options)  # type: ignore[arg-type]
    from_file = st.simulate(st.Device("z-ssd"), csv, **options)  # type: ignore[arg-type]
    assert in_memory.to_json().encode() == told.stdout
    assert from_file.to_json().encode() == told.stdout
    assert in_memory.to_dict() == json.loads(told.stdout)


def test_a_model_and_tenants_are_as_in_the_command(command: Command, csv: Path) -> None:
    flags = ["--workload", "websearch", "--requests", "500", "--seed", "3", "--json"]
    told = command("simulate", "--device", "intel-750", *flags)
    own = st.simulate("intel-750", st.workload("websearch"), requests=500, seed=3)
    assert own.to_json().encode() == told.stdout
    flags = ["--tenants", "--channels", "0-3", "--channels", "4-7", "--slowdown", "--json"]
    told = command("simulate", "--device", "ssdkeeper", "--trace", csv, csv, *flags)
    shared = st.simulate("ssdkeeper", [csv, csv], channels=["0-3", "4-7"], slowdown=True)
    assert shared.to_json().encode() == told.stdout
    assert shared.slowdown is not None and len(shared.slowdown.tenants) == 2


def test_figures_are_attributes(csv: Path) -> None:
    result = st.simulate("z-ssd", csv)
    assert result.requests.completed == 300 and result.outcome == "completed"
    assert result.report.total.all.requests == result.total["all"]["requests"] == 300
    assert result.device == "z-ssd" and result.workload == str(csv) and result.settings == {}
    assert result.preparation.start == "footprint" and result.outside_tested_range is None
    assert "total" in dir(result) and "requests" in dir(result.total.all)
    with pytest.raises(AttributeError, match="there are .*total"):
        result.totals
    with pytest.raises(AttributeError):
        result.report.device = "other"
    assert result.report.to_dict() == result.to_dict()["cells"][0]["report"]


def test_a_result_is_shown(csv: Path) -> None:
    result = st.simulate("z-ssd", csv)
    assert str(result).startswith(f"{csv} on z-ssd\n300 of 300 requests completed")
    assert result._repr_html_().startswith("<pre>") and "<ssdtune.Result" in repr(result)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.to_json() == result.to_json()


def test_tables_are_those_of_the_files(csv: Path, tmp_path: Path) -> None:
    files = {"log": tmp_path / "log.csv", "series": tmp_path / "series.csv"}
    options: dict[str, object] = {"start": "steady:0.9", "interval": 0.1}
    st.simulate("z-ssd", csv, **files, **options)  # type: ignore[arg-type]
    result = st.simulate("z-ssd", csv, log=True, series=True, **options)  # type: ignore[arg-type]
    assert result.log is not None and result.series is not None
    written = pd.read_csv(files["log"], dtype={"op": str})
    kept = pd.DataFrame(result.log)
    kept["op"] = kept["op"].map({0: "read", 1: "write"})
    pd.testing.assert_frame_equal(kept, written, check_dtype=False)
    np.testing.assert_array_equal(result.latencies, written["device_latency_ns"])
    written = pd.read_csv(files["series"])
    pd.testing.assert_frame_equal(
        pd.DataFrame(result.series), written, check_dtype=False, rtol=0, atol=0.06
    )
    assert pl.DataFrame(result.series).height == len(written) > 1
    assert not result.latencies.flags.owndata and not result.latencies.flags.writeable
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.latencies, result.latencies)
    with pytest.raises(st.UsageError, match="log=True"):
        st.simulate("z-ssd", csv).latencies


def test_files_are_not_replaced_unless_forced(csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    st.simulate("z-ssd", csv, log=path)
    with pytest.raises(st.UsageError, match="exists"):
        st.simulate("z-ssd", csv, log=path)
    st.simulate("z-ssd", csv, log=path, force=True)
    with pytest.raises(st.UsageError):
        st.simulate("z-ssd", csv, log=csv, force=True)


def test_a_prepared_drive_is_kept_and_restored(csv: Path, tmp_path: Path) -> None:
    kept = tmp_path / "drive"
    first = st.simulate("z-ssd", csv, start="steady:0.2", save=kept)
    second = st.simulate("z-ssd", csv, restore=kept)
    assert first.report.total == second.report.total
    with pytest.raises(st.UsageError):
        st.simulate("z-ssd", csv, restore=kept, start="empty")


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "stedy"},
        {"start": "empty", "age": "random"},
        {"replay": "closed"},
        {"fit_addresses": "fold"},
        {"erases": 3},
        {"slowdown": True},
        {"interval": -1},
        {"time_scale": 0.0},
    ],
)
def test_what_is_wrong_is_refused(csv: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(st.Error):
        st.simulate("z-ssd", csv, **wrong)  # type: ignore[arg-type]


def test_data_that_do_not_fit_are_told() -> None:
    far = st.Trace.from_arrays([0], [1 << 60], [512], [1])
    with pytest.raises(st.DataError, match="the drive ends at"):
        st.simulate("z-ssd", far)
    assert st.simulate("z-ssd", far, fit_addresses="wrap").requests.completed == 1


def test_ctrl_c_ends_a_long_run() -> None:
    script = (
        "import ssdtune as st\n"
        "print('ready', flush=True)\n"
        "st.simulate('intel-750', st.workload('database'), requests=10**9, start='empty')\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert child.returncode != 0 and "KeyboardInterrupt" in said

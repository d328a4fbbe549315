"""Traces: read, made of arrays, shown as arrays; and workload models."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ssdtune as st


def test_a_file_is_read_and_lies_in_arrays(csv: Path) -> None:
    trace = st.Trace.read(csv)
    assert len(trace) == 300 and trace.name == str(csv) and trace.warnings == []
    generated = st.workload("database").generate(300)
    np.testing.assert_array_equal(trace.records[["lba", "sectors", "op"]],
                                  generated.records[["lba", "sectors", "op"]])
    # Times of a file count from its first request.
    np.testing.assert_array_equal(trace.time, generated.time - generated.time[0])
    assert not trace.records.flags.writeable and not trace.time.flags.owndata
    assert trace.time.dtype == np.uint64 and trace.time.base is not None
    np.testing.assert_array_equal(trace.offset, trace.lba * 512)
    np.testing.assert_array_equal(trace.size, trace.sectors.astype(np.uint64) * 512)
    assert len(st.Trace.read(str(csv), requests=7)) == 7


def test_arrays_become_a_trace_and_come_back() -> None:
    time = np.array([0, 5, 5], dtype=np.int64)
    trace = st.Trace.from_arrays(time, [0, 512, 1000], [512, 1024, 100], [0, 1, 2], name="three")
    assert trace.name == "three"
    assert trace.time.tolist() == [0, 5, 5] and trace.op.tolist() == [0, 1, 2]
    # The last one touches the sectors 1 and 2.
    assert trace.lba.tolist() == [0, 1, 1] and trace.sectors.tolist() == [1, 2, 2]
    again = st.Trace.from_arrays(trace.time, trace.offset, trace.size, trace.op)
    assert again == trace and again.digest == trace.digest and hash(again) == hash(trace)
    assert pickle.loads(pickle.dumps(trace)) == trace
    assert len(st.Trace.from_arrays([], [], [], [])) == 0


def test_strided_columns_dates_and_words_are_understood() -> None:
    frame = pd.DataFrame({
        "time": pd.to_datetime(["2026-01-01 00:00:00", "2026-01-01 00:00:00.000001"], format="ISO8601"),
        "offset": [4096, 0],
        "size": [4096, 8192],
        "op": ["Write", "r"],
    })  # fmt: skip
    trace = st.Trace.from_arrays(frame["time"], frame["offset"], frame["size"], frame["op"])
    assert trace.time.tolist() == [0, 1000] and trace.op.tolist() == [1, 0]
    table = np.array([[0, 0, 512], [9, 512, 512]], dtype=np.uint64)
    strided = st.Trace.from_arrays(table[:, 0], table[:, 1], table[:, 2], [True, False])
    assert strided.time.tolist() == [0, 9] and strided.op.tolist() == [1, 0]
    flush = st.Trace.from_arrays([0], [77], [0], ["flush"])
    assert flush.lba.tolist() == [0] and flush.sectors.tolist() == [0]


def test_every_fault_of_arrays_is_named() -> None:
    with pytest.raises(st.DataError) as caught:
        st.Trace.from_arrays([9, 5, 7, 9], [0] * 4, [512, 512, 512, 0], [0, 0, 1, 1])
    assert str(caught.value).splitlines() == [
        "2 rows earlier than one before it: sort the rows by time; "
        "the first is row 1, counted from 0",
        "1 rows of size 0, which only a flush has; the first is row 3, counted from 0",
    ]
    for wrong in (
        ([0.5], [0], [512], [0]),
        ([-1], [0], [512], [0]),
        ([0], [0], [512], [4]),
        ([0], [0], [512], ["x"]),
        ([[0]], [0], [512], [0]),
        ([0, 1], [0], [512], [0]),
    ):
        with pytest.raises(st.UsageError):
            st.Trace.from_arrays(*wrong)
    with pytest.raises(st.DataError):
        st.Trace.from_arrays([0], [(1 << 64) - 512], [1024], [0])


def test_faults_of_a_file_are_told_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("time_ns,tenant,op,lba,sectors\n0,0,R,0,8\n1,0,R,x,8\n2,0,R,8,8\n")
    with pytest.raises(st.DataError) as caught:
        st.Trace.read(path)
    assert caught.value.faults[0].line == 3
    assert len(st.Trace.read(path, lenient=True)) == 2
    with pytest.raises(st.UsageError):
        st.Trace.read(path, format="no-format")
    with pytest.raises(st.UsageError):
        st.Trace.read(path, event="X")
    with pytest.raises(st.DataError, match="no-such.csv"):
        st.Trace.read("no-such.csv")


def test_columns_of_any_text_are_read(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("0 W 0 4096\n0.5 R 8 512\n")
    spec = "time=0:s,op=1,lba=2,size=3:bytes"
    trace = st.Trace.read(path, format="columns", columns=spec, delimiter=" ")
    assert trace.time.tolist() == [0, 500_000_000] and trace.sectors.tolist() == [8, 1]


def test_models_generate_and_are_told_apart(tmp_path: Path) -> None:
    model = st.workload("database")
    assert "database" in st.workloads() and model.tenants == 1
    assert model.generate(50) == model.generate(50) != model.generate(50, seed=1)
    assert model.generate(50, seed_set="validation") != model.generate(50)
    path = tmp_path / "own.toml"
    path.write_text(model.to_toml())
    assert st.workload(path) == model == pickle.loads(pickle.dumps(model))
    with pytest.raises(st.UsageError, match="did you mean `database`?"):
        st.workload("databse")
    with pytest.raises(st.UsageError):
        model.generate(1, seed_set="x")

"""Drives: made, changed, told apart, told wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import ssdtune as st


def test_a_preset_a_file_and_a_text_are_drives(tmp_path: Path) -> None:
    preset = st.Device("intel-750", **{"bus.channels": 16, "gc.threshold": 0.1})
    path = tmp_path / "own.toml"
    path.write_text(preset.to_toml())
    assert st.Device(path) == preset == st.Device.from_toml(preset.to_toml())
    assert preset["bus.channels"] == 16 and preset["gc.threshold"] == 0.1
    assert preset["gc.policy"] == "greedy" and "bus.channels" in preset
    assert preset.name == "intel-750" and dict(preset) == {k: preset[k] for k in preset.keys()}


def test_values_may_have_units_and_switches_are_bools() -> None:
    device = st.Device("intel-750", **{"cache.capacity_bytes": "64MiB"})
    assert device["cache.capacity_bytes"] == 64 << 20
    switches = [key for key in device.keys() if isinstance(device[key], bool)]
    other = device.replace(**{switches[0]: not device[switches[0]]})
    assert other[switches[0]] is not device[switches[0]]


def test_drives_are_equal_by_what_they_are() -> None:
    one, other = st.Device("z-ssd"), st.Device("z-ssd", **{"bus.channels": 4})
    assert one == st.Device("z-ssd") and hash(one) == hash(st.Device("z-ssd"))
    assert one != other and one.digest != other.digest and len(one.digest) == 64
    assert one != "z-ssd" and len({one, other, st.Device("z-ssd")}) == 2
    assert repr(one).startswith("<ssdtune.Device z-ssd, digest ")


@pytest.mark.parametrize("name", st.presets())
def test_every_preset_survives_pickling(name: str) -> None:
    device = st.Device(name).replace(**{"run.seed": 7})
    copy = pickle.loads(pickle.dumps(device))
    assert copy == device and copy.digest == device.digest and copy.notes == device.notes


def test_every_fault_is_named() -> None:
    with pytest.raises(st.UsageError) as caught:
        st.Device("intel-750", **{"bus.chanels": 16, "gc.policy": "gredy", "bus.channels": 0})
    assert len(caught.value.faults) == 3 and caught.value.code == 2
    assert "did you mean bus.channels?" in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, st.Error)
    with pytest.raises(st.UsageError, match="did you mean z-ssd?"):
        st.Device("zssd")
    with pytest.raises(KeyError, match="did you mean bus.channels?"):
        st.Device("z-ssd")["bus.chanels"]


def test_faults_of_a_file_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('[bus]\nchannels = 0\n[gc]\npolicy = "gredy"\n')
    with pytest.raises(st.DataError) as caught:
        st.Device(path)
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [
        (str(path), 2),
        (str(path), 4),
    ]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.faults == caught.value.faults and str(copy) == str(caught.value)
    with pytest.raises(st.DataError, match="no/such.toml"):
        st.Device("no/such.toml")


def test_a_sweep_varies_the_first_axis_slowest() -> None:
    axes = {"bus.channels": [4, 8], "gc.threshold": "0.05,0.1"}
    drives = st.Device("samsung-850-pro").sweep(**axes)
    assert [(one["bus.channels"], one["gc.threshold"]) for one in drives] == [
        (4, 0.05), (4, 0.1), (8, 0.05), (8, 0.1)
    ]  # fmt: skip
    assert drives[3].settings == {"bus.channels": "8", "gc.threshold": "0.1"}
    assert pickle.loads(pickle.dumps(drives[3])).settings == drives[3].settings
    with pytest.raises(st.UsageError, match="no such key"):
        st.Device("z-ssd").sweep(**{"bus.chanels": [1]})

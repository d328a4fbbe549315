"""AutoBlox's seven workloads, from the file that the program has them from."""

import tomllib
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "configs" / "workloads" / "autoblox.toml"
_WORKLOADS = tomllib.loads(_FILE.read_text())["workload"]

# Their names, and the requests outstanding in the closed loop of each.
SEVEN = [workload["name"] for workload in _WORKLOADS]
DEPTHS = {workload["name"]: workload["depth"] for workload in _WORKLOADS}

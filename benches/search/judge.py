#!/usr/bin/env python3
"""MQSim as an independent judge of recommended drives.

    judge.py SSDTUNE MQSIM TABLES PAIRS [--requests 20000]

For each target of TABLES/intel-750 (made by tables.py) the baseline and the recommended drive become MQSim pairs in
PAIRS, on drives that hold nothing and without garbage collection: `open` has the trace's own times, `full` all requests
at once with as many outstanding as the target's closed loop. Each pair is run by MQSim, by ssdtune as MQSim (`simulate
--mqsim`), and by ssdtune with each of MQSim's peculiarities off, one at a time and all together. Prints Markdown; leaves
PAIRS/judge.json.
"""

import argparse
import json
import math
import re
import subprocess
import tempfile
from pathlib import Path

DEPTHS = {"batch-analytics": 256, "cloud-storage": 4, "database": 32, "kvstore": 4, "livemaps": 16, "recomm": 16, "websearch": 256}
RANGES = [("Channel_IDs", "Flash_Channel_Count"), ("Chip_IDs", "Chip_No_Per_Channel"),
          ("Die_IDs", "Die_No_Per_Chip"), ("Plane_IDs", "Plane_No_Per_Die")]


def call(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def tag(xml, name):
    return re.search(rf"<{name}>\s*([^<]*?)\s*<", xml).group(1)


def put(xml, name, value):
    return re.sub(rf"<{name}>[^<]*<", f"<{name}>{value}<", xml)


def workload(ssd, trace):
    every = "\n".join(f"      <{ids}>{','.join(map(str, range(int(tag(ssd, count)))))}</{ids}>" for ids, count in RANGES)
    return f"""<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios>
  <IO_Scenario>
    <IO_Flow_Parameter_Set_Trace_Based>
      <Priority_Class>HIGH</Priority_Class>
      <Device_Level_Data_Caching_Mode>WRITE_READ_CACHE</Device_Level_Data_Caching_Mode>
{every}
      <Initial_Occupancy_Percentage>0</Initial_Occupancy_Percentage>
      <File_Path>{trace}</File_Path>
      <Percentage_To_Be_Executed>100</Percentage_To_Be_Executed>
      <Relay_Count>1</Relay_Count>
      <Time_Unit>NANOSECOND</Time_Unit>
    </IO_Flow_Parameter_Set_Trace_Based>
  </IO_Scenario>
</MQSim_IO_Scenarios>
"""


class Judge:
    def __init__(self, args):
        self.args = args
        self.switches = [line.split("=")[0].strip() for line in self.compat()]

    def compat(self):
        """The switches that matter to a drive of one tenant whose blocks never run out."""
        names = json.loads(call(self.args.ssdtune, "config", "params", "--json"))
        rows = names if isinstance(names, list) else names["parameters"]
        keys = [row["key"] for row in rows if row["key"].startswith("compat.")]
        return keys

    def ssdtune(self, where, ssd, work, sets=()):
        command = [self.args.ssdtune, "simulate", "--mqsim", ssd, work, "--json", "-q", "--threads", "1"]
        for one in sets:
            command += ["--set", one]
        report = json.loads(call(*command, cwd=where))
        report = report["runs"][0]["report"] if "runs" in report else report
        return find(report)

    def mqsim(self, where, ssd, work):
        call(self.args.mqsim, "-i", ssd, "-w", work, cwd=where)
        xml = (where / work.replace(".xml", "_scenario_1.xml")).read_text()
        return float(tag(xml, "Device_Response_Time")) * 1e3

    def pair(self, where, name, mode, ssd, depth):
        ssd = put(ssd, "Enabled_Preconditioning", "false")
        # MQSim of 2019 knows no other name; with one tenant there is one priority.
        ssd = put(ssd, "Transaction_Scheduling_Policy", "OUT_OF_ORDER")
        if mode == "full":
            # MQSim keeps queue depth - 2 + fetch size requests between submission and completion.
            ssd = put(put(ssd, "IO_Queue_Depth", 2), "Queue_Fetch_Size", depth)
        files = f"{name}.{mode}.ssd.xml", f"{name}.{mode}.workload.xml"
        (where / files[0]).write_text(ssd)
        (where / files[1]).write_text(workload(ssd, f"{mode}.trace"))
        return files

    def target(self, target):
        args = self.args
        kept = args.pairs / target
        kept.mkdir(parents=True, exist_ok=True)
        result = json.loads((args.tables / "intel-750" / target / "result.json").read_text())
        base = call(args.ssdtune, "config", "convert", "intel-750", "--to", "xml", "-q")
        with tempfile.TemporaryDirectory() as place:
            where = Path(place)
            call(args.ssdtune, "trace", "generate", target, "-n", args.requests, "-o", where / "open.trace", "-q")
            lines = (where / "open.trace").read_text().splitlines()
            full = [" ".join([str(number), *line.split()[1:]]) for number, line in enumerate(lines)]
            (where / "full.trace").write_text("\n".join(full) + "\n")
            rows = {}
            for name, ssd in [("intel-750", base), ("recommended", result["mqsim_xml"])]:
                for mode in ["open", "full"]:
                    files = self.pair(where, name, mode, ssd, DEPTHS[target])
                    for file in files:
                        (kept / file).write_text((where / file).read_text())
                    row = {"a": self.mqsim(where, *files), "b": self.ssdtune(where, *files)}
                    row["off"] = {key: self.ssdtune(where, *files, [f"{key}=false"]) for key in self.switches}
                    row["c"] = self.ssdtune(where, *files, [f"{key}=false" for key in self.switches])
                    rows[f"{name}.{mode}"] = row
        claimed = result["training"]["target"]["speedup"]
        print(f"{target} done", flush=True)
        return {"claimed": claimed, "runs": rows}


def find(report):
    """The mean device response time of all requests, in nanoseconds."""
    stack = [report]
    while stack:
        own = stack.pop(0)
        if isinstance(own, dict):
            if isinstance(own.get("device_latency_ns"), dict) and "mean" in own["device_latency_ns"]:
                return own["device_latency_ns"]["mean"]
            stack.extend([own[key] for key in ("total", "all") if key in own])
            stack.extend(value for key, value in own.items() if key not in ("total", "all"))
        elif isinstance(own, list):
            stack.extend(own)
    raise SystemExit("no device_latency_ns in the report")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ssdtune", type=Path)
    parser.add_argument("mqsim", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--targets", default=",".join(DEPTHS))
    args = parser.parse_args()
    judge = Judge(args)
    file = args.pairs / "judge.json"
    for target in args.targets.split(","):
        known = json.loads(file.read_text()) if file.exists() else {}
        if target not in known and (args.tables / "intel-750" / target / "result.json").exists():
            known[target] = judge.target(target)
            file.write_text(json.dumps(known, indent=1) + "\n")


main()

#!/usr/bin/env python3
"""MQSim as an independent judge of recommended drives.

    judge.py SSDTUNE MQSIM TABLES PAIRS [--requests 5000] [--ideal | --found-by-mqsim]

tables.py has made TABLES/intel-750. For each target there, the baseline and the recommended drive
become MQSim pairs (a device file and a workload file) in PAIRS. Drives are empty at the start, and
there is no garbage collection. There are two pairs for each drive:

- `open` issues the requests at the times of the trace.
- `full` issues all requests at once, with as many outstanding as in the target's closed loop.

Each pair is run by (a) MQSim, (b) ssdtune as MQSim (`simulate --mqsim`), and (c) ssdtune with all
of MQSim's peculiarities off. With `open`, it is also run with each peculiarity off alone.

An empty drive begins with an empty mapping cache, so nearly every first access reads the mapping
from flash too. With --ideal, both drives have the whole mapping table in DRAM. PAIRS then gets the
figures but no files, which differ in one tag only, Ideal_Mapping_Table. With --found-by-mqsim, the
drives are those in TABLES/mqsim, which artefact.py has found with MQSim's peculiarities on.

Prints tables in Markdown and writes PAIRS/judge.json. `judge.py show PAIRS/judge.json` prints the
tables again.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from workloads import DEPTHS

# Switches without effect here: they need several tenants, garbage collection or a used drive.
IDLE = {
    f"compat.{name}"
    for name in (
        "gc_reserve_ten",
        "no_static_wear_leveling",
        "cmt_private_copies",
        "unaligned_tenants",
        "single_plane_erases",
        "wrap_request_size",
        "analytic_start",
    )
}
RANGES = [
    ("Channel_IDs", "Flash_Channel_Count"),
    ("Chip_IDs", "Chip_No_Per_Channel"),
    ("Die_IDs", "Die_No_Per_Chip"),
    ("Plane_IDs", "Plane_No_Per_Die"),
]


def call(*command, **more):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        **more,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def tag(xml, name):
    return re.search(rf"<{name}>\s*([^<]*?)\s*<", xml).group(1)


def put(xml, name, value):
    return re.sub(rf"<{name}>[^<]*<", f"<{name}>{value}<", xml)


def workload(ssd, trace):
    every = "\n".join(
        f"      <{ids}>{','.join(map(str, range(int(tag(ssd, count)))))}</{ids}>"
        for ids, count in RANGES
    )
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
        self.switches = self.compat()

    def compat(self):
        """The switches that have an effect with one tenant and without garbage collection."""
        rows = json.loads(call(self.args.ssdtune, "config", "params", "--json"))
        return [
            row["key"]
            for row in rows
            if row["key"].startswith("compat.") and row["key"] not in IDLE
        ]

    def ssdtune(self, where, ssd, work, sets=()):
        command = [
            self.args.ssdtune,
            "simulate",
            "--mqsim",
            ssd,
            work,
            "--json",
            "-q",
            "--threads",
            "1",
        ]
        for one in sets:
            command += ["--set", one]
        return find(json.loads(call(*command, cwd=where)))

    def mqsim(self, where, ssd, work):
        call(self.args.mqsim, "-i", ssd, "-w", work, cwd=where)
        xml = (where / work.replace(".xml", "_scenario_1.xml")).read_text()
        return float(tag(xml, "Device_Response_Time")) * 1e3

    def pair(self, where, name, mode, ssd, depth):
        ssd = put(ssd, "Enabled_Preconditioning", "false")
        # MQSim of 2019 knows no other policy. With one tenant there is one priority.
        ssd = put(ssd, "Transaction_Scheduling_Policy", "OUT_OF_ORDER")
        if self.args.ideal:
            ssd = put(ssd, "Ideal_Mapping_Table", "true")
        if mode == "full":
            # MQSim keeps (queue depth - 2 + fetch size) requests between submission and completion.
            # With this number equal, throughputs are inversely proportional to response times.
            slots = max(depth // 2 + 1, 3)
            ssd = put(put(ssd, "IO_Queue_Depth", slots), "Queue_Fetch_Size", depth + 2 - slots)
        files = f"{name}.{mode}.ssd.xml", f"{name}.{mode}.workload.xml"
        (where / files[0]).write_text(ssd)
        (where / files[1]).write_text(workload(ssd, f"{mode}.trace"))
        return files

    def found(self, target):
        return self.args.tables / ("mqsim" if self.args.found_by_mqsim else "intel-750") / target

    def target(self, target):
        args = self.args
        kept = args.pairs / target
        if args.keep:
            kept.mkdir(parents=True, exist_ok=True)
        result = json.loads((self.found(target) / "result.json").read_text())
        base = call(args.ssdtune, "config", "convert", "intel-750", "--to", "xml", "-q")
        with tempfile.TemporaryDirectory() as place:
            where = Path(place)
            call(
                args.ssdtune,
                "trace",
                "generate",
                target,
                "-n",
                args.requests,
                "-o",
                where / "open.trace",
                "-q",
            )
            lines = (where / "open.trace").read_text().splitlines()
            full = [" ".join([str(number), *line.split()[1:]]) for number, line in enumerate(lines)]
            (where / "full.trace").write_text("\n".join(full) + "\n")
            rows = {}
            for name, ssd in [("intel-750", base), ("recommended", result["mqsim_xml"])]:
                for mode in ["open", "full"]:
                    files = self.pair(where, name, mode, ssd, DEPTHS[target])
                    for file in files if args.keep else ():
                        (kept / file).write_text((where / file).read_text())
                    row = {"a": self.mqsim(where, *files), "b": self.ssdtune(where, *files)}
                    if mode == "open" and not args.found_by_mqsim:
                        row["off"] = {
                            key: self.ssdtune(where, *files, [f"{key}=false"])
                            for key in self.switches
                        }
                    row["c"] = self.ssdtune(
                        where, *files, [f"{key}=false" for key in self.switches]
                    )
                    rows[f"{name}.{mode}"] = row
        question = []
        if args.found_by_mqsim:
            known = json.loads(call(args.ssdtune, "config", "params", "--json"))
            keys = [row["key"] for row in known if row["key"].startswith("compat.")]
            question = [
                "--start",
                "empty",
                *(word for key in keys for word in ("--set", f"{key}=true")),
            ]
        graded = call(
            args.ssdtune,
            "grade",
            "--space",
            "autoblox",
            *question,
            "--target",
            target,
            "--others",
            "none",
            "--device",
            "intel-750",
            "--requests",
            args.requests,
            "--no-db",
            "--threads",
            "1",
            "--json",
            "-q",
            self.found(target) / "recommended.toml",
        )
        claimed = json.loads(graded)[0]["target"]
        print(f"{target} done", flush=True)
        return {"claimed": claimed, "runs": rows}


def find(report):
    """The mean device response time of all requests, in nanoseconds."""
    stack = [report]
    while stack:
        own = stack.pop(0)
        if isinstance(own, dict):
            if (
                isinstance(own.get("device_latency_ns"), dict)
                and "mean" in own["device_latency_ns"]
            ):
                return own["device_latency_ns"]["mean"]
            stack.extend([own[key] for key in ("total", "all") if key in own])
            stack.extend(value for key, value in own.items() if key not in ("total", "all"))
        elif isinstance(own, list):
            stack.extend(own)
    raise SystemExit("no device_latency_ns in the report")


def ratio(runs, mode, by):
    return runs[f"intel-750.{mode}"][by] / runs[f"recommended.{mode}"][by]


def share(part, whole):
    return f"{part / whole:.0%}" if abs(whole) > 0.02 else "-"


def show(known):
    print(
        "| target | claimed | (a) MQSim | (b) as MQSim | (c) as it is, empty drive "
        "| greatest (a)/(b) - 1 | survives in (a): latency | both |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for target, own in known.items():
        runs, claimed = own["runs"], own["claimed"]
        pairs = {by: (ratio(runs, "open", by), ratio(runs, "full", by)) for by in "abc"}
        off = max((abs(run["a"] / run["b"] - 1) for run in runs.values()))
        log = lambda pair: sum(math.log(one) for one in pair)
        both = log((claimed["latency"], claimed["throughput"]))
        print(
            f"| {target} | {claimed['latency']:.2f}/{claimed['throughput']:.2f} | "
            + " | ".join(f"{l:.2f}/{t:.2f}" for l, t in pairs.values())
            + f" | {off:.2%} | {share(math.log(pairs['a'][0]), math.log(claimed['latency']))} "
            f"| {share(log(pairs['a']), both)} |"
        )
    print(
        "\nWhat each peculiarity does to (b) when it alone is switched off, own times, "
        "mean response in us (nothing below 0.1):\n"
    )
    print("| target | drive | (b) | (c) | switched off alone |")
    print("|---|---|---|---|---|")
    for target, own in known.items():
        for name in ("intel-750", "recommended"):
            run = own["runs"][f"{name}.open"]
            moved = sorted(
                ((value - run["b"]) / 1e3, key[7:]) for key, value in run.get("off", {}).items()
            )
            said = ", ".join(f"{key} {change:+.1f}" for change, key in moved if abs(change) >= 0.1)
            print(f"| {target} | {name} | {run['b'] / 1e3:.1f} | {run['c'] / 1e3:.1f} | {said} |")


def main():
    if sys.argv[1:2] == ["show"]:
        return show(json.loads(Path(sys.argv[2]).read_text()))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ssdtune", type=Path)
    parser.add_argument("mqsim", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--ideal", action="store_true")
    parser.add_argument("--found-by-mqsim", action="store_true")
    parser.add_argument("--targets", default=",".join(sorted(DEPTHS)))
    args = parser.parse_args()
    judge = Judge(args)
    args.keep = not (args.ideal or args.found_by_mqsim)
    name = "judge" if args.keep else "judge-ideal" if args.ideal else "judge-found-by-mqsim"
    file = args.pairs / f"{name}.json"
    for target in args.targets.split(","):
        known = json.loads(file.read_text()) if file.exists() else {}
        if target not in known and (judge.found(target) / "result.json").exists():
            known[target] = judge.target(target)
            file.write_text(json.dumps(known, indent=1) + "\n")
    show(json.loads(file.read_text()))


main()

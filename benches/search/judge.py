#!/usr/bin/env python3
"""MQSim as an independent judge of recommended drives.

    judge.py SSDTUNE MQSIM TABLES PAIRS [--requests 5000] [--ideal]
    judge.py SSDTUNE MQSIM TABLES PAIRS --found-by-mqsim [--requests 3000] [--seeds 0-4]
             [--budget 30]

TABLES/intel-750 holds what `search --out` wrote for each target. The baseline and the recommended
drive become MQSim pairs (a device file and a workload file) in PAIRS. Drives are empty at the
start, and there is no garbage collection. There are two pairs for each drive:

- `open` issues the requests at the times of the trace.
- `full` issues all requests at once, with as many outstanding as in the target's closed loop.

Each pair is run by (a) MQSim, (b) ssdtune as MQSim (`simulate --mqsim`), and (c) ssdtune with all
of MQSim's peculiarities off. With `open`, it is also run with each peculiarity off alone.

An empty drive begins with an empty mapping cache, so nearly every first access reads the mapping
from flash too. With --ideal, both drives have the whole mapping table in DRAM. PAIRS then gets the
figures but no files, which differ in one tag only, Ideal_Mapping_Table.

With --found-by-mqsim, drives are searched for first: for each target and seed, with all of MQSim's
peculiarities on, drives that are empty at the start, and the six other workloads as others. What is
claimed, and what (a) and (b) run, are requests of a held-out seed, which no search sees. Searches
are kept in TABLES/mqsim, figures in PAIRS, so that a study goes on where it was left.

Prints tables in Markdown and writes PAIRS/judge.json. `judge.py show PAIRS/judge.json` prints the
tables again, of whichever kind.

    judge.py rates SSDTUNE PAIRS/judge-found-by-mqsim.json

makes the drives of --found-by-mqsim again from the changes that the file holds, runs their `full`
requests with ssdtune as MQSim, and prints how throughput grows by the time from the first request
to the last completion, beside the ratio of response times. It needs neither MQSim nor a search.
"""

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from intervals import factor, spread
from workloads import DEPTHS, SEVEN

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

    def report(self, where, ssd, work, sets=()):
        command = [self.args.ssdtune, "simulate", "--mqsim", ssd, work]
        command += ["--json", "-q", "--threads", "1"]
        for one in sets:
            command += ["--set", one]
        return json.loads(call(*command, cwd=where))

    def ssdtune(self, where, ssd, work, sets=()):
        return find(self.report(where, ssd, work, sets))

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
            # The drive serves as many requests at once as it may fetch, and the queue is never
            # empty. MQSim keeps (queue depth - 2 + fetch size) requests between submission and
            # completion. With this number equal, throughputs are inversely proportional to
            # response times.
            ssd = put(put(ssd, "IO_Queue_Depth", depth + 1), "Queue_Fetch_Size", depth)
        files = f"{name}.{mode}.ssd.xml", f"{name}.{mode}.workload.xml"
        (where / files[0]).write_text(ssd)
        (where / files[1]).write_text(workload(ssd, f"{mode}.trace"))
        return files

    def question(self, target):
        """The options that search and claim have in common."""
        args = self.args
        common = [
            *("--space", "autoblox", "--target", target, "--device", "intel-750"),
            *("--requests", args.requests, "--threads", "1", "-q"),
        ]
        if args.found_by_mqsim:
            known = json.loads(call(args.ssdtune, "config", "params", "--json"))
            keys = [row["key"] for row in known if row["key"].startswith("compat.")]
            common += ["--start", "empty"]
            common += [word for key in keys for word in ("--set", f"{key}=true")]
        return common

    def found(self, target, seed):
        """Where a search has left its result."""
        args = self.args
        if not args.found_by_mqsim:
            return args.tables / "intel-750" / target
        where = args.tables / "mqsim" / f"{target}-{seed}"
        if not (where / "result.json").exists():
            how = ["--seed", seed, "--budget", args.budget, "--prefix", args.requests // 10]
            how += ["--db", args.tables / "autodb", "--out", where, "--force"]
            call(args.ssdtune, "search", *self.question(target), *how)
        return where

    def requests(self, target, seed, where):
        """Writes open.trace and full.trace."""
        command = ["trace", "generate", target, "-n", self.args.requests]
        command += ["-o", where / "open.trace", "-q"]
        command += ["--seed-set", "held-out", "--seed", seed] if self.args.found_by_mqsim else []
        call(self.args.ssdtune, *command)
        lines = (where / "open.trace").read_text().splitlines()
        full = [" ".join([str(number), *line.split()[1:]]) for number, line in enumerate(lines)]
        (where / "full.trace").write_text("\n".join(full) + "\n")

    def target(self, target, seed):
        args = self.args
        where = self.found(target, seed)
        kept = args.pairs / target
        if args.keep:
            kept.mkdir(parents=True, exist_ok=True)
        drive = where / "recommended.toml"
        result = json.loads((where / "result.json").read_text())
        base = call(args.ssdtune, "config", "convert", "intel-750", "--to", "xml", "-q")
        with tempfile.TemporaryDirectory() as place:
            where = Path(place)
            self.requests(target, seed, where)
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
                    if not args.found_by_mqsim:
                        row["c"] = self.ssdtune(
                            where, *files, [f"{key}=false" for key in self.switches]
                        )
                    rows[f"{name}.{mode}"] = row
        graded = call(
            args.ssdtune,
            "grade",
            *self.question(target),
            *("--others", "none", "--no-db", "--json"),
            *(("--held-out", "--trace-seed", seed) if args.found_by_mqsim else ()),
            drive,
        )
        claimed = json.loads(graded)[0]["target"]
        print(f"{target} {seed} done", flush=True)
        answer = {"claimed": claimed, "runs": rows}
        if args.found_by_mqsim:
            answer["learned"] = result["training"]["target"]["speedup"]
            answer["changes"] = {
                change["key"]: [change["baseline"], change["recommended"]]
                for change in result["parameters"]
            }
        return answer


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


def rates(ssdtune, known):
    """Throughput over the baseline's by time, for each target: geometric means over its seeds."""
    ask = argparse.Namespace(ssdtune=ssdtune, ideal=False, found_by_mqsim=True, requests=3_000)
    judge, logs = Judge(ask), {}
    for name, own in known.items():
        target, seed = name.rsplit("-", 1)
        changes = [f"{key}={after}" for key, (_, after) in own["changes"].items()]
        with tempfile.TemporaryDirectory() as place:
            where = Path(place)
            judge.requests(target, seed, where)
            seconds = []
            for drive, sets in (("intel-750", []), ("recommended", changes)):
                words = [word for one in sets for word in ("--set", one)]
                convert = ["config", "convert", "intel-750", *words, "--to", "xml", "-q"]
                ssd = call(ssdtune, *convert)
                report = judge.report(where, *judge.pair(where, drive, "full", ssd, DEPTHS[target]))
                before = own["runs"][f"{drive}.full"]["b"]
                if abs(find(report) / before - 1) > 1e-9:
                    raise SystemExit(f"{name}, {drive}: {find(report)} ns, was {before}: not alike")
                seconds.append(report["cells"][0]["report"]["time"]["seconds"])
        factors = (
            own["claimed"]["throughput"],
            seconds[0] / seconds[1],
            ratio(own["runs"], "full", "b"),
        )
        logs.setdefault(target, {})[seed] = list(map(math.log, factors))
    print("| target | claimed | by time | by response times |\n|---|---|---|---|")
    for target, seeds in logs.items():
        print(f"| {target} | {' | '.join(columns(seeds.values()))} |")
    of_seed = [[seeds[seed] for seeds in logs.values()] for seed in next(iter(logs.values()))]
    all_of_seed = [[statistics.fmean(part) for part in zip(*rows)] for rows in of_seed]
    print(f"| all, interval over seeds | {' | '.join(columns(all_of_seed))} |")


def columns(rows):
    return [factor(list(column)) for column in zip(*rows)]


def share(part, whole):
    return f"{part / whole:.0%}" if abs(whole) > 0.02 else "-"


LAYOUT = {
    "bus.channels": "12",
    "bus.chips_per_channel": "5",
    "flash.dies_per_chip": "8",
    "flash.planes_per_die": "1",
}


def layout(own):
    return "x".join(own["changes"].get(key, [base, base])[1] for key, base in LAYOUT.items())


def show_seeds(known):
    """Geometric means over seeds, with 95 % intervals."""
    claims = lambda own: [math.log(own["claimed"][part]) for part in ("latency", "throughput")]
    judged = lambda own: [math.log(ratio(own["runs"], mode, "a")) for mode in ("open", "full")]
    off = lambda own: max(abs(run["a"] / run["b"] - 1) for run in own["runs"].values())
    seeds = {}
    for name, own in known.items():
        target, seed = name.rsplit("-", 1)
        seeds.setdefault(target, {})[seed] = own
    print(
        "| target | seeds | claimed: latency | throughput | MQSim: latency | throughput "
        "| MQSim: mean of both | above 1.25x | survives | greatest (a)/(b) - 1 | layouts |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    rows = {target: seeds[target] for target in SEVEN if target in seeds}
    mean = lambda pair: sum(pair) / 2
    verdicts = []
    for target, runs in rows.items():
        claimed = [claims(own) for own in runs.values()]
        found = [judged(own) for own in runs.values()]
        both = [mean(pair) for pair in found]
        bar = math.log(1.25)
        verdict = []
        for logs in (both, [pair[0] for pair in found]):
            middle, half = spread(logs)
            sure = "yes" if middle - half > bar else "no" if middle + half < bar else "undecided"
            verdict.append((middle > bar, sure))
        verdicts.append(verdict)
        cells = [target, len(runs)]
        cells += [factor([pair[part] for pair in claimed]) for part in (0, 1)]
        cells += [factor([pair[part] for pair in found]) for part in (0, 1)]
        cells += [factor(both), verdict[0][1]]
        cells += [share(statistics.fmean(both), statistics.fmean(map(mean, claimed)))]
        cells += [f"{max(map(off, runs.values())):.2%}"]
        cells += [", ".join(sorted({layout(own) for own in runs.values()}))]
        print("| " + " | ".join(map(str, cells)) + " |")
    every = [own for runs in rows.values() for own in runs.values()]
    whole = [seed for seed in rows[next(iter(rows))] if all(seed in runs for runs in rows.values())]
    print()
    for at, what in enumerate(("the mean of both", "latency alone")):
        over = sum(verdict[at][0] for verdict in verdicts)
        sure = sum(verdict[at][1] == "yes" for verdict in verdicts)
        print(f"Above 1.25x in {what}: {over} of {len(verdicts)}, {sure} with the whole interval.")
    print(f"All {len(every)} drives: greatest (a)/(b) - 1 {max(map(off, every)):.2%}.\n")
    print("| all targets | latency | throughput | mean of both |")
    print("|---|---|---|---|")
    for what, logs in [("claimed", claims), ("MQSim", judged)]:
        part = {
            "targets": [[logs(own) for own in runs.values()] for runs in rows.values()],
            "seeds": [[logs(runs[seed]) for runs in rows.values()] for seed in whole],
        }
        for over, groups in part.items():
            cells = [
                factor([statistics.fmean(map(pick, group)) for group in groups])
                for pick in (lambda pair: pair[0], lambda pair: pair[1], mean)
            ]
            print(f"| {what}, interval over {over} | " + " | ".join(cells) + " |")
    gain = lambda logs: sum(mean(logs(own)) for own in every)
    print(f"\nOf the claimed gain survives {share(gain(judged), gain(claims))}.")


def show(known):
    if all("learned" in own for own in known.values()):
        return show_seeds(known)
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
    if sys.argv[1:2] == ["rates"]:
        return rates(Path(sys.argv[2]).resolve(), json.loads(Path(sys.argv[3]).read_text()))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ssdtune", type=Path)
    parser.add_argument("mqsim", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--requests", type=int, help="default: 5,000; 3,000 with searches")
    parser.add_argument("--ideal", action="store_true")
    parser.add_argument("--found-by-mqsim", action="store_true")
    parser.add_argument("--seeds", default="0-4", help="of searches")
    parser.add_argument("--budget", type=int, default=30, help="of searches")
    parser.add_argument("--targets", default=",".join(sorted(DEPTHS)))
    args = parser.parse_args()
    args.requests = args.requests or (3_000 if args.found_by_mqsim else 5_000)
    judge = Judge(args)
    args.keep = not (args.ideal or args.found_by_mqsim)
    name = "judge" if args.keep else "judge-ideal" if args.ideal else "judge-found-by-mqsim"
    file = args.pairs / f"{name}.json"
    args.pairs.mkdir(parents=True, exist_ok=True)
    first, last = (int(part) for part in args.seeds.split("-"))
    for seed in range(first, last + 1) if args.found_by_mqsim else [None]:
        for target in args.targets.split(","):
            known = json.loads(file.read_text()) if file.exists() else {}
            name = target if seed is None else f"{target}-{seed}"
            if name in known:
                continue
            if seed is not None or (judge.found(target, seed) / "result.json").exists():
                known[name] = judge.target(target, seed)
                file.write_text(json.dumps(known, indent=1) + "\n")
    show(json.loads(file.read_text()))


if __name__ == "__main__":
    main()

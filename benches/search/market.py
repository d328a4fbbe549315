#!/usr/bin/env python3
"""What `ssdtune search --space market` finds for real traces and models, and what is left of it on
requests that the search never saw.

    market.py run  SSDTUNE OUT TRACES [--seeds 0-9] [--only NAME,...] [--guesses FACTOR]
                        [--baselines NAME,...] [--space FILE]
                                        runs that are not in OUT yet
    market.py show OUT                  a table in Markdown
    market.py beside OUT...             the mean of both judged factors, a column for each OUT
    market.py paired WITHOUT WITH       its quotient, WITH over WITHOUT, run by run, and what of
                                        placement and victims the drives of WITH have

TRACES is the folder of real traces. A run learns from the first 20,000 requests of its target and is
judged on the 20,000 that follow, from five states of used drives. OUT grows by a line for each run,
so that a study goes on where it was left. With --guesses every time of every flash part that no
public source tells is FACTOR times as long; such a study has an OUT of its own.
"""

import argparse
import json
import math
import resource
import subprocess
from collections import Counter
from pathlib import Path

from intervals import factor

TARGETS = {
    "webserver": "blkreplay_linux-webserver-2.load.xz",
    "cloudphysics": "cloudphysics_libcachesim.vscsi.xz",
    "telegram": "mobile_telegram_exec.csv.xz",
    "hadoop": "hadoop_eternity10_D.csv.xz",
    "websearch": "websearch",
    "kvstore": "kvstore",
}
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
BASES = CONFIGS / "bases"
BASELINES = {
    "intel-750-400gb": str(BASES / "intel-750-400gb.toml"),
    "micron-7450-max-800gb": "micron-7450-max-800gb",
}
REQUESTS = 20_000
BUDGET = 30


def with_guesses(factor, path):
    """Writes the catalogue of parts to `path`, every guessed time `factor` times as long."""
    guessed = []
    lines = []
    for line in (CONFIGS / "parts" / "market.toml").read_text().splitlines():
        key, _, value = line.partition(" = ")
        if key == "guessed":
            guessed = json.loads(value)
        elif key in guessed and key.endswith("_ns"):
            line = f"{key} = {round(float(value.split('#')[0]) * factor)}"
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def command(ssdtune, traces, target, baseline, seed, space="market"):
    name = TARGETS[target]
    workload = str(traces / name) if "." in name else name
    return [
        *(ssdtune, "search", "--space", space, "--start", "steady:0.9", "--target", workload, "--others", "none"),
        *("--device", BASELINES[baseline], "--seed", str(seed), "--requests", str(REQUESTS)),
        *("--fit-addresses", "compact", "--budget", str(BUDGET), "--prefix", str(REQUESTS // 5)),
        *("--patience", "1000", "--no-db", "--threads", "1", "--json", "-q"),
    ]


def summary(result):
    """What is kept of a result document."""
    table = result["held_out"]["target"]
    return {
        "learned": result["training"]["target"]["speedup"],
        "judged": table["speedup"],
        "interval": table["interval"],
        "price": result["price"],
        "watts": [table[drive]["average_watts"] for drive in ("baseline", "own")],
        "endurance": result["endurance_bytes"],
        "pins": result["controller_pins"],
        "changes": {
            change["key"]: [change["baseline"], change["recommended"]]
            for change in result["parameters"]
        },
    }


def stored(out):
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines]


def run(args):
    first, last = (int(part) for part in args.seeds.split("-"))
    done = {(row["target"], row["baseline"], row["seed"]) for row in stored(args.out)}
    parts = []
    if args.guesses is not None:
        catalogue = args.out.with_suffix(".parts.toml")
        with_guesses(args.guesses, catalogue)
        parts = ["--parts", str(catalogue)]
    wanted = args.only.split(",") if args.only else list(TARGETS)
    for seed in range(first, last + 1):
        for target in wanted:
            for baseline in args.baselines.split(","):
                if (target, baseline, seed) in done:
                    continue
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                call = command(args.ssdtune, args.traces, target, baseline, seed, args.space)
                call += parts
                answer = subprocess.run(call, check=True, capture_output=True, text=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                row = {"target": target, "baseline": baseline, "seed": seed}
                row["cpu_s"] = round(after.ru_utime - before.ru_utime, 1)
                row |= summary(json.loads(answer.stdout))
                with args.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                judged = row["judged"]
                print(
                    f"{target} {baseline} {seed}: {judged['latency']:.2f} {judged['throughput']:.2f}"
                    f" {row['cpu_s']} s",
                    flush=True,
                )


def show(args):
    rows = stored(args.out)
    hours = sum(row["cpu_s"] for row in rows) / 3600
    print(f"{len(rows)} runs, {hours:.2f} CPU hours.\n")
    print(
        "| target | baseline | seeds | latency learned | latency judged | throughput learned |"
        " throughput judged | price | power | parts chosen |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for target in TARGETS:
        for baseline in BASELINES:
            own = [r for r in rows if (r["target"], r["baseline"]) == (target, baseline)]
            if not own:
                continue
            cells = []
            for figure in ("latency", "throughput"):
                for kind in ("learned", "judged"):
                    cells.append(factor([math.log(row[kind][figure]) for row in own]))
            price = factor([math.log(row["price"][1] / row["price"][0]) for row in own])
            power = factor([math.log(row["watts"][1] / row["watts"][0]) for row in own])
            part = Counter(row["changes"].get("part", ["", "the baseline's"])[1] for row in own)
            told = ", ".join(f"{name} {count}" for name, count in part.most_common(3))
            cells = [target, baseline, str(len(own)), *cells, price, power, told]
            print("| " + " | ".join(cells) + " |")


def beside(args):
    studies = [stored(out) for out in args.out]
    print("| target | baseline | " + " | ".join(out.stem for out in args.out) + " |")
    print("|---|---|" + "---|" * len(studies))
    for target in TARGETS:
        for baseline in BASELINES:
            cells = []
            for rows in studies:
                own = [r for r in rows if (r["target"], r["baseline"]) == (target, baseline)]
                judged = [row["judged"] for row in own]
                logs = [math.log(both["latency"] * both["throughput"]) / 2 for both in judged]
                cells.append(factor(logs) if logs else "-")
            if "-" not in cells:
                print(f"| {target} | {baseline} | " + " | ".join(cells) + " |")


def paired(args):
    def kept(out):
        return {(r["target"], r["baseline"], r["seed"]): r for r in stored(out)}

    without, own = kept(args.without), kept(args.own)
    pairs = [(own[key], without[key]) for key in own if key in without]
    print("| target | baseline | pairs | learned | judged | placement | victims |")
    print("|---|---|---|---|---|---|---|")
    names = sorted({(row["target"], row["baseline"]) for row, _ in pairs})
    for name in [*names, None]:
        some = [pair for pair in pairs if name in (None, (pair[0]["target"], pair[0]["baseline"]))]
        cells = list(name or ("all", ""))
        cells.append(str(len(some)))
        for kind in ("learned", "judged"):
            logs = [
                sum(math.log(a[kind][f] / b[kind][f]) for f in ("latency", "throughput")) / 2
                for a, b in some
            ]
            cells.append(factor(logs))
        for key in ("placement.policy", "victims"):
            chosen = Counter(a["changes"].get(key, ["", "the baseline's"])[1] for a, _ in some)
            cells.append(", ".join(f"{value} {count}" for value, count in chosen.most_common()))
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    runs = actions.add_parser("run")
    runs.add_argument("ssdtune")
    runs.add_argument("out", type=Path)
    runs.add_argument("traces", type=Path)
    runs.add_argument("--seeds", default="0-9")
    runs.add_argument("--only")
    runs.add_argument("--guesses", type=float)
    runs.add_argument("--baselines", default=",".join(BASELINES))
    runs.add_argument("--space", default="market")
    runs.set_defaults(act=run)
    shows = actions.add_parser("show")
    shows.add_argument("out", type=Path)
    shows.set_defaults(act=show)
    several = actions.add_parser("beside")
    several.add_argument("out", type=Path, nargs="+")
    several.set_defaults(act=beside)
    both = actions.add_parser("paired")
    both.add_argument("without", type=Path)
    both.add_argument("own", type=Path, metavar="with")
    both.set_defaults(act=paired)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What `ssdtune search --screen` saves, and whether it costs anything: pairs of searches from the same AutoDB.

    screening.py run  SSDTUNE OUT [--seeds 2001-2010] [--algorithms bayes,random]   every run, skipping those that are there
    screening.py show OUT                                                           pairs, as Markdown

First an AutoDB learns: one search for each target, on traces of seeds that no pair uses. Then every pair begins from a copy
of it, with and without screening, on traces of its own seed, with the same options otherwise. A discarded proposal counts
against the budget as if it had run, so both make about as many proposals.
"""

import argparse
import json
import math
import shutil
import statistics
import subprocess
from pathlib import Path

TARGETS = {"database": "websearch,recomm", "websearch": "database,recomm", "recomm": "database,websearch"}
REQUESTS = 1_000
BUDGET = 20
EXPERIENCE = range(101, 103)


def search(ssdtune, db, target, seed, algorithm, *more):
    command = [ssdtune, "search", "--target", target, "--others", TARGETS[target], "--requests", str(REQUESTS)]
    command += ["--prefix", str(REQUESTS // 5), "--budget", str(BUDGET), "--patience", "100000", "--threads", "1", "-q"]
    command += ["--db", str(db), "--seed", str(seed), "--algorithm", algorithm, "--json", *more]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def experienced(ssdtune, out):
    """The AutoDB that every pair begins from."""
    db = out / "experience"
    if not (out / "experience.done").exists():
        shutil.rmtree(db, ignore_errors=True)
        for seed in EXPERIENCE:
            for target in TARGETS:
                search(ssdtune, db, target, seed, "bayes")
                print("learned", target, seed, flush=True)
        (out / "experience.done").touch()
    return db


def summary(result):
    curve, effort = result["curve"], result["effort"]
    return {
        "grade": curve[-1]["best_grade"],
        # The baseline is given to both.
        "requests": curve[-1]["requests"] - curve[0]["requests"],
        "proposals": effort["proposals"],
        "screened": effort["screened"],
        "verdicts": result["verdicts"],
    }


def run(ssdtune, out, seeds, algorithms):
    out.mkdir(parents=True, exist_ok=True)
    experience = experienced(ssdtune, out)
    for seed in seeds:
        for algorithm in algorithms:
            for target in TARGETS:
                path = out / f"{algorithm}-{target}-{seed}.json"
                if path.exists():
                    continue
                pair = {}
                for name, more in (("with", ["--screen"]), ("without", [])):
                    db = out / "copy"
                    shutil.rmtree(db, ignore_errors=True)
                    shutil.copytree(experience, db)
                    pair[name] = summary(search(ssdtune, db, target, seed, algorithm, *more))
                path.write_text(json.dumps(pair))
                print(path.name, pair["with"]["grade"], pair["without"]["grade"], flush=True)


def show(out):
    pairs = {}
    for path in sorted(out.glob("*-*-*.json")):
        algorithm, target, _ = path.stem.split("-")
        pairs.setdefault((algorithm, target), []).append(json.loads(path.read_text()))
    print("| algorithm | target | seeds | grade with | without | difference | requests with | without | saved | discarded | checked, wrong |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for (algorithm, target), own in pairs.items():
        mean = lambda side, key: statistics.mean(pair[side][key] for pair in own)
        gaps = [pair["with"]["grade"] - pair["without"]["grade"] for pair in own]
        error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else float("nan")
        saved = 1 - mean("with", "requests") / mean("without", "requests")
        screened = [pair["with"]["screened"] for pair in own]
        total = lambda key: sum(one[key] for one in screened)
        share = total("discarded") / sum(pair["with"]["proposals"] for pair in own)
        print(f"| {algorithm} | {target} | {len(own)} | {mean('with', 'grade'):.3f} | {mean('without', 'grade'):.3f} "
              f"| {statistics.mean(gaps):+.4f} ± {error:.4f} | {mean('with', 'requests'):,.0f} | {mean('without', 'requests'):,.0f} "
              f"| {saved:.0%} | {share:.0%} of proposals | {total('checked')}, {total('wrong')} |")


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("ssdtune")
    runs.add_argument("out", type=Path)
    runs.add_argument("--seeds", type=numbers, default=numbers("2001-2010"))
    runs.add_argument("--algorithms", type=lambda text: text.split(","), default=["bayes", "random"])
    shows = commands.add_parser("show")
    shows.add_argument("out", type=Path)
    args = parser.parse_args()
    if args.command == "run":
        run(args.ssdtune, args.out, args.seeds, args.algorithms)
    else:
        show(args.out)


if __name__ == "__main__":
    main()

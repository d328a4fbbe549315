#!/usr/bin/env python3
"""Labels of drives that are drawn at random, from which one network learns that serves any drive of
eight channels (configs/keeper/any-drive.json).

    drives.py SSDTUNE OUT [--drives 0-89] [--mixes 30]

Drives are the preset ssdkeeper with other channels, chips, times and pages. Each has a file of OUT,
as `ssdtune keeper train OUT/d*.jsonl` reads it; a file that is there goes on where it was left. Mixes
are drawn with a seed of the drive's own. The period T is as long as the drive takes for as many
pages as the drive of Table I serves in a second.
"""

import argparse
import math
import random
import re
import subprocess
from pathlib import Path

# Flash pages a second at which level 20 ends on the drive of Table I, whose T is a second.
TABLE_I_PAGES = 17_500


def drawn(number):
    """The settings of a drive: each is drawn for itself, rates and times evenly in logarithms."""
    draw = random.Random(1000 + number)

    def between(low, high):
        return round(math.exp(draw.uniform(math.log(low), math.log(high))))

    return {
        "bus.rate_mts": between(40, 1600),
        "flash.page_program_latency_lsb_ns": between(100_000, 2_000_000),
        "flash.page_read_latency_lsb_ns": between(3_000, 80_000),
        "bus.chips_per_channel": draw.choice([1, 2, 4]),
        "flash.planes_per_die": draw.choice([1, 2, 4]),
        "flash.page_bytes": draw.choice([4096, 8192, 16384]),
    }


def label(ssdtune, out, number, mixes):
    drive = [word for key, value in drawn(number).items() for word in ("--set", f"{key}={value}")]
    command = [ssdtune, "--seed", str(100 + number), "keeper", "label", *drive]
    # A few requests of one mix, for what the command says of the drive: its rate is measured.
    trial = out / f"d{number}.rate"
    short = ["--tenants", "4", "--mixes", "1", "--requests", "1000", "--out", str(trial)]
    said = subprocess.run([*command, *short], check=True, capture_output=True, text=True).stderr
    trial.unlink()
    rate = int(re.search(r"level 20 ends at (\d+)", said).group(1))
    collect_ms = max(1, round(1000 * TABLE_I_PAGES / rate))
    command += ["--rate-max", str(rate), "--collect-ms", str(collect_ms)]
    command += ["--tenants", "4,4,4,4,2", "--mixes", str(mixes), "-q"]
    subprocess.run([*command, "--out", str(out / f"d{number}.jsonl")], check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ssdtune")
    parser.add_argument("out", type=Path)
    parser.add_argument("--drives", default="0-89", metavar="FIRST-LAST")
    parser.add_argument("--mixes", type=int, default=30)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    first, last = map(int, args.drives.split("-"))
    for number in range(first, last + 1):
        label(args.ssdtune, args.out, number, args.mixes)


if __name__ == "__main__":
    main()

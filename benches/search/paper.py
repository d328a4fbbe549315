"""What AutoBlox's paper prints: speedups of latency and throughput."""

SEVEN = "recomm kvstore database websearch batch-analytics cloud-storage livemaps"
NEW = "leveldb mysql hdfs vdi fiu radiusauth"

# Each table: a row for each workload, a column for each target, both in this order.
TABLES = {
    "Table 1": (
        SEVEN,
        """
        1.28/1.07 1.18/1.02 1.22/1.01 1.00/1.01 1.19/1.05 1.18/1.03 1.23/1.05
        1.21/1.19 1.32/1.26 1.21/1.18 0.97/0.98 1.25/1.19 1.23/1.19 1.20/1.16
        1.14/1.14 1.15/1.14 1.45/1.43 1.00/1.00 1.15/1.14 1.14/1.13 1.14/1.11
        1.03/0.54 0.92/0.89 0.64/0.88 1.25/1.00 0.89/0.55 0.93/0.55 0.90/0.61
        1.28/1.00 1.21/1.00 1.15/1.00 1.12/1.01 1.33/1.01 1.24/1.00 1.21/1.00
        1.52/1.01 1.64/1.01 1.38/1.01 1.10/1.00 1.76/1.01 1.93/1.01 1.78/1.01
        1.38/1.24 1.11/1.07 1.26/1.14 0.95/0.98 1.33/1.19 1.40/1.21 1.82/1.35
        """,
    ),
    "Table 4": (
        NEW,
        """
        1.34/1.27 1.05/1.04 1.00/1.00 1.02/1.03 1.24/1.20 1.01/1.00
        1.15/1.16 1.45/1.43 0.99/0.98 1.34/1.38 1.14/1.14 1.28/1.29
        1.41/1.00 1.23/1.00 1.53/1.01 1.12/1.00 1.36/1.04 1.10/1.09
        1.27/1.16 1.30/1.17 1.05/1.03 1.38/1.28 1.13/1.08 1.17/1.10
        1.13/1.00 0.99/1.00 1.16/1.00 1.08/1.09 1.39/1.00 1.08/1.06
        1.03/1.00 1.43/1.00 1.08/1.00 1.32/1.00 1.23/1.00 1.52/1.00
        """,
    ),
    "Table 8": (
        SEVEN,
        """
        2.38/1.04 0.98/0.99 1.21/1.01 1.53/1.01 0.94/1.00 1.72/1.04 1.11/0.99
        1.83/1.38 2.46/1.57 2.08/1.47 1.13/1.12 1.33/1.17 1.23/1.13 1.46/1.24
        1.04/1.03 1.18/1.17 1.84/1.71 1.01/1.00 1.58/1.53 1.29/1.26 1.63/1.54
        1.00/1.00 0.64/1.00 0.74/1.00 1.08/1.92 0.44/1.00 0.46/1.00 0.45/1.00
        1.06/1.00 1.15/1.17 0.78/1.07 1.24/1.07 1.32/1.07 0.99/1.07 1.24/1.07
        1.07/1.00 0.93/1.00 0.96/1.00 0.78/1.00 1.16/1.00 1.22/1.00 1.13/1.00
        0.72/0.94 1.01/1.00 1.36/1.04 0.49/0.86 1.53/1.04 1.33/1.03 1.86/1.07
        """,
    ),
    "Table 9": (
        SEVEN,
        """
        1.23/1.07 1.13/1.03 1.05/1.01 1.06/1.01 1.07/1.01 1.13/1.03 1.09/1.03
        2.13/1.60 2.45/1.58 0.76/0.67 1.15/0.74 0.87/0.51 2.03/1.70 1.65/0.90
        1.01/1.00 0.92/1.00 1.01/1.18 0.99/1.14 0.98/1.12 0.98/1.00 1.01/1.00
        0.94/1.00 0.89/1.00 1.13/1.13 1.13/1.14 1.12/1.10 0.98/1.00 0.95/1.00
        0.82/1.00 1.03/1.00 1.16/1.00 1.15/1.00 1.17/1.00 1.03/1.00 0.99/1.00
        1.10/1.01 1.14/1.01 1.04/1.00 1.04/1.02 1.05/1.00 1.40/1.01 1.06/1.00
        1.42/1.31 1.62/1.43 1.14/1.16 1.03/1.04 1.40/1.32 1.59/1.46 1.83/1.46
        """,
    ),
}

# Table 1's row for the best drive of the target alone.
IGNORING_OTHERS = {
    "recomm": "1.44/1.03",
    "kvstore": "1.46/1.37",
    "database": "1.54/1.51",
    "websearch": "1.36/1.00",
    "batch-analytics": "1.35/1.00",
    "cloud-storage": "1.99/1.01",
    "livemaps": "1.86/1.37",
}

# Table 5: the baseline's value and the learned ones in the order of Table 1's targets, under
# ssdtune's names.
PARAMETERS = {
    "mapping.cmt_capacity_bytes": "256 384 384 384 64 640 128 256 MiB",
    "cache.capacity_bytes": "800 672 672 672 996 416 928 800 MiB",
    "bus.channels": "12 32 10 10 32 32 32 16",
    "bus.chips_per_channel": "5 2 8 8 2 2 2 5",
    "flash.dies_per_chip": "8 2 1 2 8 1 1 4",
    "flash.planes_per_die": "1 8 8 3 1 16 16 2",
    "flash.blocks_per_plane": "512 512 512 512 512 512 512 256",
    "flash.pages_per_block": "512 256 384 512 512 256 256 768",
}


def parameter(key):
    """The baseline's value and the learned ones; only `None` if Table 5 has no such parameter."""
    values = PARAMETERS.get(key, "").split()
    unit = " MiB" if "MiB" in values else ""
    return [f"{value}{unit}" for value in values if value != "MiB"] or [None]


def speedup(table, workload, target):
    """What a drive learned for a target does for a workload, in the paper's table."""
    names, rows = TABLES[table]
    names = names.split()
    return rows.split()[names.index(workload) * len(names) + names.index(target)]

#!/usr/bin/env python3
"""Prints what a run of tools/gpu-check.sh measured, as tables.

    tables.py FOLDER        with its bench-*.json and pytorch.json; what is missing or damaged is left out, and said
"""
import glob
import json
import os
import sys

GROUPS = ["prefill", "decode", "layer"]
TYPES = ["f32", "f16", "bf16"]


def load(path):
    """The file's content; None, with a line, where it holds no JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        print("(%s: its step ended before it was written)" % os.path.basename(path))
        return None


def key_of(row):
    return row["group"], row["problem"], row["dtype"]


def times(document):
    return {key_of(row): row["min_ms"] for row in document["results"] if row.get("min_ms") is not None}


def milliseconds(value):
    return "" if value is None else "%.4g" % value


def share(row):
    return "" if row["share_of_peak"] is None else "%.0f %%" % (100 * row["share_of_peak"])


def cells(row, tuned, pytorch):
    if row["not_measured_because"]:
        return [row["dtype"], "", "", "", "", row["not_measured_because"]]
    check = row["check"] or {}
    remark = row["variant"] + ("" if check.get("right", True) else "  WRONG RESULT")
    return [row["dtype"], milliseconds(row["min_ms"]), milliseconds(tuned.get(key_of(row))),
            milliseconds(pytorch.get(key_of(row))), share(row), remark]


def place(row):
    """Groups and types in their usual order, the types of a problem together."""
    return GROUPS.index(row["group"]), row["gflop"], row["problem"], TYPES.index(row["dtype"])


def print_rows(rows, tuned, pytorch):
    head, problem = None, None
    for row in rows:
        if row["group"] != head:
            head = row["group"]
            print("\n%s\n    %-6s %9s %9s %9s %8s  %s" % (head, "dtype", "ms", "tuned", "PyTorch", "of peak", "variant"))
        if row["problem"] != problem:
            problem = row["problem"]
            print("  " + problem)
        print("    %-6s %9s %9s %9s %8s  %s" % tuple(cells(row, tuned, pytorch)))


def print_peaks(document):
    for device in document["devices"]:
        peaks = ", ".join("%s %.4g" % item for item in (device.get("peaks") or {}).items() if item[1] is not None)
        print("%s, %s, driver %s; peaks: %s" % (device["name"], device["platform"], device["driver"], peaks))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = sys.argv[1]
    documents = {}
    for path in sorted(glob.glob(os.path.join(folder, "bench-*.json"))):
        documents[os.path.basename(path)[len("bench-"):-len(".json")]] = load(path)
    documents = {name: document for name, document in documents.items() if document}
    path = os.path.join(folder, "pytorch.json")
    pytorch = load(path) if os.path.exists(path) else None
    if not documents:
        print("\nNothing was measured.")
        return 0
    print("\n---- speed: least times")
    print_peaks(next(iter(documents.values())))
    if pytorch:
        print("PyTorch %s on %s" % (pytorch["version"], pytorch["device"]))
    tuned = times(documents.pop("tuned")) if "tuned" in documents else {}
    rows = {}
    for name in sorted(documents, key=lambda name: name == "quick"):
        for row in documents[name]["results"]:
            rows.setdefault(key_of(row), row)
            if row["check"]:
                rows[key_of(row)]["check"] = row["check"]
    print_rows(sorted(rows.values(), key=place), tuned, times(pytorch) if pytorch else {})
    return 0


if __name__ == "__main__":
    sys.exit(main())

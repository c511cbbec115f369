#!/usr/bin/env python3
"""The errors that function_errors measured, as Markdown.

usage: function_errors.py RESULTS.json…                     prints them
       function_errors.py RESULTS.json… --check PAGE.md     exits 1 if what stands there between the two lines
                                                            <!-- errors:begin --> and <!-- errors:end --> differs
       function_errors.py RESULTS.json… --write PAGE.md     puts them there

Fails if a result is wrong, has too large an error or other bits on some instruction set, or if a function is missing.
"""
import argparse
import json
import pathlib
import re
import sys

BETWEEN = re.compile(r"(?<=<!-- errors:begin -->\n).*?(?=<!-- errors:end -->)", re.DOTALL)
DEFINITIONS = pathlib.Path(__file__).resolve().parents[2] / "tests/functions/functions.def"
ROW = re.compile(r"^GRIDFOLD_FUNCTION\((\w+), .*?([\d.]+), ([\d.]+)\)$", re.MULTILINE)
TYPES = ("f32", "f64")
SETS = {"baseline": "without fma", "avx2": "AVX2", "avx512": "AVX-512"}


def read_all(files):
    """The contexts, and the rows by function and type."""
    contexts, rows = [], {}
    for file in files:
        data = json.loads(pathlib.Path(file).read_text())
        contexts.append(data["context"])
        for row in data["functions"]:
            key = row["function"], row["type"]
            if key in rows:
                sys.exit(f"{file}: {key[0]} of {key[1]} is in two files")
            rows[key] = row
    return contexts, rows


def allowed():
    """The largest allowed errors by function and type, in the order of functions.def."""
    return {(name, type): float(most) for name, *both in ROW.findall(DEFINITIONS.read_text())
            for type, most in zip(TYPES, both)}


def problems(rows, most):
    for key, bound in most.items():
        name = " of ".join(key)
        if key not in rows:
            yield f"{name} is missing"
            continue
        row = rows[key]
        if row["ulp"] > bound:
            yield f"{name} has an error of {row['ulp']} ulp, more than {bound:g}"
        if row["wrong"]:
            yield f"{name} has {row['wrong']} wrong special values or signs"
        for set, found in row["bits"].items():
            if found["different"]:
                yield f"{name} has {found['different']} other results on the CPU with {set}"


def size(n):
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def tried(row):
    return "all" if row["all"] else size(row["points"])


def cells(row):
    return [f"{row['ulp']:.3f}", f"{100 * row['misrounded']:.2f} %", tried(row)]


def tables(contexts, rows, most):
    devices = sorted({c["device"] + ("" if c["driver"] == "none" else f", driver {c['driver']}") for c in contexts})
    dates = sorted({c["date"][:10] for c in contexts})
    sets = []
    for set, title in SETS.items():
        points = [row["bits"][set]["points"] for row in rows.values() if set in row["bits"]]
        if points:
            sets.append(f"{title} (at least {size(min(points))} points a function and type)")
    lines = [f"Measured on {'; '.join(devices)}, {', '.join(dates)}. The CPU's bits were the same with these instruction "
             f"sets: {', '.join(sets)}.", "",
             "| function | f32: largest error, ulp | not correctly rounded | points | f64: largest error, ulp | "
             "not correctly rounded | points |", "| " + " | ".join(["---"] * 7) + " |"]
    for name in dict.fromkeys(function for function, _ in most):
        lines.append("| " + " | ".join([name, *cells(rows[name, "f32"]), *cells(rows[name, "f64"])]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS.json")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", type=pathlib.Path, metavar="PAGE.md")
    action.add_argument("--write", type=pathlib.Path, metavar="PAGE.md")
    options = parser.parse_args()
    (contexts, rows), most = read_all(options.files), allowed()
    found = list(problems(rows, most))
    if found:
        sys.exit("\n".join(found))
    made = tables(contexts, rows, most)
    page = options.check or options.write
    if page is None:
        print(made, end="")
        return
    text = page.read_text()
    if len(BETWEEN.findall(text)) != 1:
        sys.exit(f"{page} has no one part between <!-- errors:begin --> and <!-- errors:end -->")
    if options.write:
        page.write_text(BETWEEN.sub(lambda _: made, text))
    elif BETWEEN.search(text).group() != made:
        sys.exit(f"{page} does not show these results: function_errors.py --write mends it")


if __name__ == "__main__":
    main()

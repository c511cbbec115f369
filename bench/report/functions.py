#!/usr/bin/env python3
"""The results of bench_functions and of bench_gpu's cases function_…, as Markdown.

usage: functions.py RESULTS.json…                       prints them
       functions.py RESULTS.json… --check README.md     exits 1 if what stands there between the two lines
                                                        <!-- bench:begin --> and <!-- bench:end --> differs
       functions.py RESULTS.json… --write README.md     puts them there
"""
import argparse
import pathlib
import sys

from results import read_all

CASE = "function_"
MODES = ("AVX2", "AVX-512")
LIBRARIES = ("numpy", "libmvec", "sleef")
ON_GPU = {"gridfold_fast_math": "`fast_math`", "cuda": "CUDA's in an own op"}


def name_of(case):
    return case.workload.removeprefix(CASE).replace("_", ", ")


def ratio_of_least(results, case, name):
    """The contender's time over gridfold's, or None."""
    theirs, ours = results.least(case, name), results.least(case, "gridfold")
    return theirs / ours if theirs and ours else None


def cell(results, case, name):
    """A ratio, and the contender's error."""
    value = ratio_of_least(results, case, name)
    error = results.counter(case, name, "ulps")
    return "" if value is None else f"{value:.2f}" + ("" if error is None else f" ({error:.2f})")


def ours(results, case):
    elements = results.counter(case, "gridfold", "elements")
    error = results.counter(case, "gridfold", "ulps")
    return [f"{1e3 * results.least(case, 'gridfold') / elements:.3f}", "" if error is None else f"{error:.2f}"]


def rows(results, mode, names):
    for case in results.cases(mode=mode):
        if case.workload.startswith(CASE) and results.us(case, "gridfold"):
            yield [name_of(case), case.type, *ours(results, case),
                   *(cell(results, case, name) for name in names)]


def measured_with(results):
    """NumPy's version and the dates."""
    numpys = {results.label(case, "numpy") for mode in MODES for case in results.cases(mode=mode)} - {""}
    dates = {results.contexts[mode].get("date", "")[:10] for mode in MODES if mode in results.contexts}
    return ", ".join([*sorted(numpys), *sorted(dates)])


def markdown(head, body):
    return ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *body]]


def tables(results):
    head = ["function", "type", "ns", "ulp"]
    lines = []
    for mode in (*MODES, "graph"):
        names = ON_GPU if mode == "graph" else {"numpy": "NumPy", "libmvec": "libmvec", "sleef": "SLEEF"}
        body = list(rows(results, mode, names))
        if body:
            title = results.caption(mode) if mode == "graph" else f"{mode}, {measured_with(results)}"
            lines += [f"{title}.", "", *markdown(head + list(names.values()), body), ""]
    return "\n".join(lines)


def main():
    from table import BETWEEN, checked_readme
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS.json")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", type=pathlib.Path, metavar="README.md")
    action.add_argument("--write", type=pathlib.Path, metavar="README.md")
    options = parser.parse_args()
    made = "\n" + tables(read_all(options.files))
    if options.write:
        options.write.write_text(BETWEEN.sub(lambda _: made, checked_readme(options.write)))
    elif options.check:
        if BETWEEN.search(checked_readme(options.check)).group() != made:
            sys.exit(f"{options.check} does not show these results: functions.py --write mends it")
    else:
        print(made.strip("\n"))


if __name__ == "__main__":
    main()

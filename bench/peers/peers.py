#!/usr/bin/env python3
"""The same work in PyTorch, CuPy and JAX: sum, cubes, five and zscore of f32, by the names that all benchmarks share
(workload/f32/bytes:B/mode/contender), as JSON in Google Benchmark's form.

Each library runs in a separate process, so that none holds memory that another needs, and finished cases are kept if it
fails later. A library that is missing, sees no GPU or gives a wrong result is omitted, with a message on stderr and in
the context's left_out.

The modes: call is the host's clock from the call until the host has the result (for zscore, until the array is done),
as percentiles over batches in turn; graph, only for PyTorch, is a captured CUDA Graph timed by events.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

LIBRARIES = ("torch", "cupy", "jax")
HERE = pathlib.Path(__file__).resolve().parent


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the JSON file to write")
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 20, 24, 28], metavar="LOG2",
                        help="numbers of elements, as powers of two (default: 16 20 24 28)")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--seconds", type=float, default=285, help="for all of it; what takes longer is cut off")
    options = parser.parse_args(arguments)
    if not all(10 <= size <= 31 for size in options.sizes):
        parser.error("--sizes: from 10 to 31")
    if not options.out.parent.is_dir():
        parser.error(f"--out: there is no folder {options.out.parent}")
    return options


def gpu():
    """Name and driver of the first GPU, by nvidia-smi."""
    try:
        line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
                              capture_output=True, text=True, check=True).stdout
        name, driver = (field.strip() for field in line.split(",", 1))
        return {"gpu": name, "driver": driver}
    except (OSError, subprocess.CalledProcessError, ValueError):
        return {}


def run_library(library, sizes, seconds):
    """The part of one library: context (versions, what was left out) and benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        part = pathlib.Path(folder) / "part.json"
        command = [sys.executable, str(HERE / "measure.py"), library, str(part), *map(str, sizes)]
        environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        problem = None
        try:
            status = subprocess.run(command, env=environment, timeout=max(seconds, 1)).returncode
            if status != 0:
                problem = f"ended with status {status}"
        except subprocess.TimeoutExpired:
            problem = "ran out of time"
        result = json.loads(part.read_text()) if part.exists() else {"versions": {}, "left_out": {}, "benchmarks": []}
    if problem:
        print(f"{library}: {problem}", file=sys.stderr)
        result["left_out"][library] = problem
    return result


def main(arguments):
    options = parsed(arguments)
    end = time.monotonic() + options.seconds
    context = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), **gpu(),
               "versions": {"python": sys.version.split()[0]}, "left_out": {}}
    benchmarks = []
    for number, library in enumerate(options.libraries):
        share = (end - time.monotonic()) / (len(options.libraries) - number)
        # PyTorch compiles most: what it needs may be half of all.
        share = max(share, options.seconds / 2) if library == "torch" else share
        part = run_library(library, sorted(set(options.sizes)), share)
        context["versions"] |= part["versions"]
        context["left_out"] |= part["left_out"]
        benchmarks += part["benchmarks"]
    options.out.write_text(json.dumps({"context": context, "benchmarks": benchmarks}, indent=1) + "\n")
    print(f"{len(benchmarks)} entries in {options.out}")


if __name__ == "__main__":
    main(sys.argv[1:])

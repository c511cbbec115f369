"""One library's part: checks every contender against float64, then times them in turn.

usage: measure.py LIBRARY OUT LOG2…      (peers.py starts it; OUT is rewritten after each case)

A library is a module LIBRARY_peers with
    versions() -> {name: version}, or an exception where the library cannot be used here,
    Inputs(x): the input x, an array of NumPy, on the device, with
        contenders(workload) -> {name: function that makes a Contender},
        graph_times(workload, problem, leave_out) -> {name: [us a call, one a round]}, of those whose results have no
            problem(values); leave_out(name, why, "graph") tells of the others.
"""
import importlib
import json
import os
import pathlib
import sys
import time


PERCENTILES = {"p01": 0.01, "p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BATCHES = 25
BATCH_SECONDS = 0.02


def percentiles(times):
    ordered = sorted(times)
    return {name: ordered[min(int(part * len(ordered)), len(ordered) - 1)] for name, part in PERCENTILES.items()}


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def call_times(contenders):
    """{name: microseconds of each call}: batches of the contenders in turn."""
    sizes = {}
    for name, contender in contenders.items():
        warm = [seconds_of(contender.call) for _ in range(5)]
        sizes[name] = max(1, min(50, int(BATCH_SECONDS / min(warm))))
    times = {name: [] for name in contenders}
    names = list(contenders)
    for batch in range(BATCHES):
        for turn in range(len(names)):
            name = names[(turn + batch) % len(names)]
            times[name] += [1e6 * seconds_of(contenders[name].call) for _ in range(sizes[name])]
    return times


def entry(workload, elements, mode, contender, real_time, repetition, repetitions, counters):
    """One of Google Benchmark's entries. zscore writes as much as it reads."""
    size = 4 * elements
    return {"name": f"{workload}/f32/bytes:{size}/{mode}/{contender}", "run_type": "iteration",
            "repetitions": repetitions, "repetition_index": repetition, "iterations": 1, "real_time": real_time,
            "cpu_time": real_time, "time_unit": "us", "bytes": size * (2 if workload == "zscore" else 1),
            "elements": elements, **counters}


class Part:
    """The output file for peers.py."""

    def __init__(self, library, out):
        self._library, self._out = library, out
        self._content = {"versions": {}, "left_out": {}, "benchmarks": []}

    def versions(self, versions):
        self._content["versions"] = versions

    def leave_out(self, what, why):
        what = "/".join([self._library, *what])
        why = " ".join(str(why).split())[:300] or type(why).__name__
        print(f"left out: {what}: {why}", file=sys.stderr)
        self._content["left_out"][what] = why

    def add(self, workload, elements, mode, contender, times, counters):
        self._content["benchmarks"] += [
            entry(workload, elements, mode, contender, t, i, len(times), counters) for i, t in enumerate(times)]

    def write(self):
        """Writes the file atomically, because this process may be killed at any moment."""
        partial = self._out.with_suffix(".partial")
        partial.write_text(json.dumps(self._content))
        os.replace(partial, self._out)


def checked(inputs, workload, reference, leave_out):
    """The contenders whose results are right."""
    good = {}
    for name, make in inputs.contenders(workload).items():
        try:
            contender = make()
            problem = reference.problem(workload, contender.values(contender.call()))
        except Exception as error:  # whatever a library raises: the others go on
            problem = error
        if problem is None:
            good[name] = contender
        else:
            leave_out(name, problem)
    return good


def measure(library, workloads, log2, part):
    elements = 1 << log2
    x = workloads.make_input(elements)
    reference = workloads.Reference(x)
    inputs = library.Inputs(x)
    for workload in workloads.WORKLOADS:
        def leave_out(name, why, mode="call"):
            part.leave_out((workload, f"2^{log2}", mode, name), why)

        for name, times in call_times(checked(inputs, workload, reference, leave_out)).items():
            summary = percentiles(times)
            part.add(workload, elements, "call", name, [summary["p50"]], summary)
        try:
            graphs = inputs.graph_times(workload, lambda values: reference.problem(workload, values), leave_out)
        except Exception as error:  # as above
            leave_out("all", error, "graph")
            graphs = {}
        for name, times in graphs.items():
            part.add(workload, elements, "graph", name, times, {})
        part.write()


def main(name, out, *sizes):
    part = Part(name, pathlib.Path(out))
    try:
        import workloads  # needs NumPy
        library = importlib.import_module(f"{name}_peers")
        part.versions(library.versions())
    except Exception as error:  # missing, or no GPU for it
        part.leave_out((), error)
        part.write()
        return
    for size in sizes:
        try:
            measure(library, workloads, int(size), part)
        except Exception as error:  # such as too little memory
            part.leave_out((f"2^{size}",), error)
        part.write()


if __name__ == "__main__":
    main(*sys.argv[1:])

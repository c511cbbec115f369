#!/usr/bin/env python3
"""The bars for gridfold's speed: for each, the worst point, the geometric mean, and the points that miss.

usage: bars.py RESULTS.json…

A line a bar: `met`, `missed` or `no data`. Where a tie counts as met, the tied points are named. The exit status is 0
whether or not bars are missed.
"""
import argparse
import math
import typing

from results import read_all, size_text

TIE = 0.97  # of a bar of 1.0: what two runs of the same kernel may differ by


class Point(typing.NamedTuple):
    where: str
    value: float
    need: float


class Bar(typing.NamedTuple):
    """A measure over points. `above`: larger is better. A value within `tie` of the need is a tie."""
    measure: str
    need: str
    points: list
    above: bool = True
    tie: float = 1.0
    mean_need: float | None = None

    def score(self, point):
        """At least 1 if the bar is met."""
        return point.value / point.need if self.above else point.need / point.value

    @property
    def worst(self):
        return min(self.points, key=self.score)

    @property
    def mean(self):
        return math.exp(math.fsum(math.log(point.value) for point in self.points) / len(self.points))

    @property
    def missed(self):
        return [point for point in self.points if self.score(point) < self.tie]

    @property
    def tied(self):
        return [point for point in self.points if self.tie <= self.score(point) < 1]

    @property
    def verdict(self):
        if not self.points:
            return "no data"
        mean_missed = self.mean_need is not None and self.mean < self.mean_need
        return "missed" if self.missed or mean_missed else "met"


def points(results, workload, contender, need, *, to="gridfold", type=None, mode="graph", low=0, high=1 << 62):
    """The ratios contender ÷ to over a workload's sizes from `low` to `high` bytes. `need` may be a function of them."""
    found = []
    for case in results.cases(workload, type, mode):
        ratio = results.ratio(case, contender, to)
        if ratio is not None and low <= case.bytes <= high:
            label = size_text(case.bytes) if type else f"{case.type} {size_text(case.bytes)}"
            found.append(Point(label, ratio, need(case.bytes) if callable(need) else need))
    return found


def gpu_bars(results):
    types = sorted({case.type for case in results.cases("sum", mode="graph")}) or ["f32"]
    for type in types:
        yield Bar(f"sum {type}: cub ÷ gridfold", ">= 1.0, mean >= 1.08",
                  points(results, "sum", "cub", 1.0, type=type, low=1 << 10, high=1 << 34), tie=TIE, mean_need=1.08)
    yield Bar("sum of round lengths: cub ÷ gridfold", ">= 1.0", points(results, "ragged_sum", "cub", 1.0), tie=TIE)
    for workload in ("max", "argmax", "dot"):
        yield Bar(f"{workload}: cub ÷ gridfold", ">= 1.0", points(results, workload, "cub", 1.0), tie=TIE)
    for type in types:
        yield Bar(f"sum {type}: ceiling ÷ gridfold, from 2^30 bytes", ">= 0.97",
                  points(results, "sum", "ceiling", 0.97, type=type, low=1 << 30))
    yield Bar("misaligned sum: aligned ÷ misaligned", ">= 0.9 from 2^30 bytes, >= 0.75 below",
              points(results, "misaligned_sum", "gridfold_aligned", lambda size: 0.9 if size >= 1 << 30 else 0.75))

    def over_one_sum(size):
        return 1.05 if size >= 1 << 30 else 1.10 if size >= 1 << 26 else 1.4

    yield Bar("five: five ÷ one sum", "<= 1.05 from 2^30 bytes, <= 1.10 from 2^26, <= 1.4 below",
              points(results, "five", "gridfold", over_one_sum, to="gridfold_sum"), above=False)
    yield Bar("five: cub ÷ gridfold", ">= 4 above 2^14 bytes, >= 3.5 to there",
              points(results, "five", "cub", lambda size: 4 if size > 1 << 14 else 3.5))
    yield Bar("five: cub_struct ÷ gridfold", ">= 1.0", points(results, "five", "cub_struct", 1.0), tie=TIE)
    rows = 1 << 28
    row_bytes = 4 + 4 + 4 + 1
    yield Bar("sixteen, 2^28 rows: ceiling ÷ gridfold", ">= 0.9",
              points(results, "sixteen", "ceiling", 0.9, low=rows * row_bytes, high=rows * row_bytes))
    yield Bar("many: ceiling ÷ gridfold", ">= 0.5", points(results, "many", "ceiling", 0.5))
    yield Bar("z-score, 2^32 bytes: gridfold ÷ (ceiling + copy ceiling)", "<= 1.06", zscore_points(results), above=False)


def zscore_points(results):
    found = []
    for case in results.cases("zscore", mode="graph"):
        ours, read, copy = (results.us(case, name) for name in ("gridfold", "ceiling", "copy_ceiling"))
        if case.bytes == 1 << 32 and ours and read and copy:
            found.append(Point(f"{case.type} {size_text(case.bytes)}", ours / (read + copy), 1.06))
    return found


def round_trip_bars(results):
    def p50(contender, need):
        return [Point(f"{case.type} {size_text(case.bytes)}", us, need)
                for case in results.cases("round_trip", mode="call") if (us := results.us(case, contender))]

    yield Bar("round trip, µs", "<= 7", p50("gridfold_prepared", 7), above=False)
    yield Bar("round trip rebound, µs", "<= 9", p50("gridfold_rebound", 9), above=False)
    yield Bar("round trip: cub ÷ gridfold", ">= 2.5",
              points(results, "round_trip", "cub", 2.5, to="gridfold_prepared", mode="call"))


def is_peer(contender):
    return contender.startswith(("torch", "cupy", "jax"))


def peer_points(results, mode, wanted):
    return [Point(f"{case.workload} {size_text(case.bytes)} {contender}", ratio, 1.0)
            for case in results.cases(mode=mode) for contender in sorted(results.contenders(case))
            if wanted(contender) and (ratio := results.ratio(case, contender))]


def peer_bars(results):
    yield Bar("peers, a call: peer ÷ gridfold", "> 1", peer_points(results, "call", is_peer))
    yield Bar("peers, in CUDA Graphs: torch_compile_graph ÷ gridfold", "> 1",
              peer_points(results, "graph", lambda contender: contender == "torch_compile_graph"))


def cpu_bars(results):
    size = 1 << 30
    for workload in ("sum", "cubes"):
        yield Bar(f"CPU {workload}, 2^30 bytes: ceiling ÷ gridfold", ">= 0.85",
                  points(results, workload, "ceiling", 0.85, mode="cpu", low=size, high=size))
    best = []
    for case in results.cases(mode="cpu"):
        rival = results.best(case, but=("gridfold", "ceiling", "copy_ceiling"))
        ratio = results.ratio(case, rival)
        if case.bytes == size and ratio is not None:
            best.append(Point(f"{case.workload} {case.type} against {rival}", ratio, 0.95))
    yield Bar("CPU, 2^30 bytes: best contender ÷ gridfold", ">= 0.95", best)


def all_bars(results):
    return [*gpu_bars(results), *round_trip_bars(results), *peer_bars(results), *cpu_bars(results)]


def line(bar):
    """A bar as one line of text."""
    text = f"{bar.verdict:7} | {bar.measure} | {bar.need}"
    if not bar.points:
        return text
    text += f" | worst {bar.worst.value:.3f} at {bar.worst.where} | geometric mean {bar.mean:.3f} of {len(bar.points)}"
    for what, which in (("misses", bar.missed), ("ties", bar.tied)):
        if which:
            text += f" | {what}: " + ", ".join(f"{point.where} ({point.value:.3f})" for point in which)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS.json")
    for bar in all_bars(read_all(parser.parse_args().files)):
        print(line(bar))


if __name__ == "__main__":
    main()

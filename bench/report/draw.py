#!/usr/bin/env python3
"""Draws the README's charts from files of results, as small SVGs; those for which there is no data are left out.

usage: draw.py RESULTS.json… --out FOLDER

bandwidth.svg   bandwidth over size: sums of f32, gridfold and CUB, with the ceiling
speedup.svg     how many times as long several statistics take where each is a pass of its own
round_trip.svg  percentiles of a host round trip
cpu.svg         CPU contenders as fractions of the read bandwidth
folds.svg       time over the number of folds in one sweep
peers.svg       PyTorch, CuPy and JAX over gridfold, a call
"""
import argparse
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("draw.py needs matplotlib: pip install matplotlib, or the package python3-matplotlib")
matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402: after the choice of a backend

from bars import is_peer  # noqa: E402
from results import read_all, size_text  # noqa: E402

MOST_BYTES = 60_000
# One colour a role, apart for colour-blind readers as well (Okabe and Ito's).
OURS, CUB, CEILING = "#0072B2", "#D55E00", "#555555"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#555555")
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "gridfold", "font.family": "sans-serif", "font.size": 10,
         "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
         "axes.axisbelow": True, "figure.facecolor": "white", "savefig.facecolor": "white", "path.simplify": True}


def new_axes(title, caption, xlabel, ylabel):
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    figure.text(0.995, 0.003, caption, ha="right", va="bottom", fontsize=7, color="#555555")
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    return axes


def size_ticks(axes, sizes):
    axes.set_xscale("log", base=2)
    shown = sorted(sizes)
    shown = shown[:: max(1, -(-len(shown) // 13))]
    axes.set_xticks(shown, [size_text(size) for size in shown])
    axes.minorticks_off()


def bandwidth(results):
    cases = results.cases("sum", "f32", "graph")
    if not cases:
        return None
    axes = new_axes("Sum of f32: bandwidth of a cold array", results.caption("graph"), "bytes", "GB/s")
    for name, colour, label, style in (("ceiling", CEILING, "best kernel that only reads", "--"),
                                       ("cub", CUB, "CUB", "-"), ("gridfold", OURS, "gridfold", "-")):
        known = [(case.bytes, case.bytes / us / 1e3) for case in cases if (us := results.us(case, name))]
        if known:
            axes.plot(*zip(*known), style, color=colour, label=label, marker="o" if style == "-" else None, markersize=3)
    size_ticks(axes, [case.bytes for case in cases])
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes.figure


def plain_log(axes, top):
    """A logarithmic y axis from what is drawn to `top` times as much, with plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * top)
    ticks = [digit * 10.0 ** exponent for exponent in range(-2, 9) for digit in (1, 2, 5)]
    axes.set_yticks([tick for tick in ticks if low <= tick <= high * top])
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def bars_of(axes, groups, series, label_bars=True):
    """Bars side by side: series is {label: (colour, [value or None, one a group])}."""
    width = 0.8 / len(series)
    for i, (label, (colour, values)) in enumerate(series.items()):
        places = [(group + (i - (len(series) - 1) / 2) * width, value)
                  for group, value in enumerate(values) if value is not None]
        if not places:
            continue
        drawn = axes.bar([x for x, _ in places], [y for _, y in places], width, color=colour, label=label)
        if label_bars:
            axes.bar_label(drawn, fmt="%.2g", fontsize=7)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=False, axis="x")


def speedup(results):
    cases = [case for workload in ("five", "dozen", "sixteen") for case in results.cases(workload, mode="graph")
             if workload != "five" or case.bytes in [1 << e for e in (14, 18, 22, 26, 30, 32)]]
    names = (("cub", CUB, "CUB, a call a statistic"), ("gridfold_unfused", COLOURS[4], "gridfold, not fused"),
             ("cub_struct", COLOURS[2], "CUB, one call with a struct as state"))
    cases = [case for case in cases if any(results.ratio(case, name) for name, *_ in names)]
    if not cases:
        return None
    axes = new_axes("Several statistics: time over that of gridfold's one sweep", results.caption("graph"),
                    "statistics, bytes", "times as long")
    bars_of(axes, [f"{case.workload}\n{size_text(case.bytes)}" for case in cases],
            {label: (colour, [results.ratio(case, name) for case in cases]) for name, colour, label in names})
    axes.axhline(1, color=OURS, label="gridfold, one sweep")
    axes.legend(frameon=False)
    return axes.figure


PERCENTILES = ("p01", "p05", "p25", "p50", "p75", "p95", "p99", "p999")


def round_trip(results):
    lines = [(name, [results.counter(case, name, p) for p in PERCENTILES])
             for case in results.cases("round_trip", mode="call") for name in results.contenders(case)]
    lines = sorted((line for line in lines if None not in line[1]), key=lambda line: line[1][3])
    if not lines:
        return None
    axes = new_axes("From the call to the result in the host's hands: sum of cubes of 64 Ki f32",
                    results.caption("call"), "percentile of the calls", "µs")
    for (name, values), colour in zip(lines, COLOURS):
        axes.plot(values, color=colour, marker="o", markersize=3, label=f"{name} (p50 {values[3]:.1f} µs)")
    axes.set_xticks(range(len(PERCENTILES)), ["1", "5", "25", "50", "75", "95", "99", "99.9"])
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return axes.figure


def cpu(results):
    cases = [case for case in results.cases(mode="cpu") if results.us(case, "ceiling")]
    largest = max((case.bytes for case in cases), default=0)
    cases = [case for case in cases if case.bytes == largest]
    if not cases:
        return None
    names = sorted({name for case in cases for name in results.contenders(case)} - {"ceiling", "copy_ceiling"},
                   key=lambda name: (name != "gridfold", name))
    axes = new_axes(f"CPU: fraction of the read bandwidth, columns of {size_text(largest)} bytes",
                    results.caption("cpu"), "", "read loop's time ÷ contender's")
    bars_of(axes, [f"{case.workload}\n{case.type}" for case in cases],
            {name: (colour, [1 / r if (r := results.ratio(case, name, "ceiling")) else None for case in cases])
             for name, colour in zip(names, COLOURS)}, label_bars=False)
    axes.axhline(1, color=CEILING, linestyle="--")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.2)  # room for the legend
    axes.legend(frameon=False, ncols=3, fontsize=8)
    return axes.figure


def folds(results):
    counted = sorted((int(case.workload.removeprefix("folds_")), case) for case in results.cases(mode="graph")
                     if case.workload.startswith("folds_"))
    if not counted:
        return None
    size = max({case.bytes for _, case in counted}, key=lambda b: (sum(case.bytes == b for _, case in counted), b))
    axes = new_axes(f"Folds of one column of {size_text(size)} bytes", results.caption("graph"), "number of folds", "µs")
    for name, colour, label, style in (("ceiling", CEILING, "reading once", "--"),
                                       ("gridfold_unfused", COLOURS[4], "gridfold, not fused", "-"),
                                       ("cub", CUB, "CUB, a call a fold", "-"),
                                       ("gridfold", OURS, "gridfold, one sweep", "-")):
        known = [(count, us) for count, case in counted if case.bytes == size and (us := results.us(case, name))]
        if known:
            axes.plot(*zip(*known), style, color=colour, label=label, marker="o" if style == "-" else None, markersize=3)
    axes.set_xscale("log", base=2)
    plain_log(axes, top=1)
    counts = sorted({count for count, _ in counted})
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.legend(frameon=False)
    return axes.figure


def peers(results):
    cases = [case for case in results.cases(mode="call")
             if any(is_peer(name) and results.ratio(case, name) for name in results.contenders(case))]
    if not cases:
        return None
    names = sorted({name for case in cases for name in results.contenders(case) if is_peer(name)})
    axes = new_axes("A call until the host knows the result: time over gridfold's", results.caption("call"),
                    "work, bytes", "times as long")
    bars_of(axes, [f"{case.workload}\n{size_text(case.bytes)}" for case in cases],
            {name: (colour, [results.ratio(case, name) for case in cases]) for name, colour in zip(names, COLOURS[1:])},
            label_bars=False)
    axes.axhline(1, color=OURS, label="gridfold")
    plain_log(axes, top=2.5)  # room for the legend
    axes.tick_params(axis="x", labelsize=7)
    axes.legend(frameon=False, ncols=4, fontsize=8)
    return axes.figure


CHARTS = {"bandwidth": bandwidth, "speedup": speedup, "round_trip": round_trip, "cpu": cpu, "folds": folds,
          "peers": peers}


def draw(results, folder):
    """The paths of what was drawn."""
    drawn = []
    with matplotlib.rc_context(STYLE):
        for name, chart in CHARTS.items():
            figure = chart(results)
            if figure is None:
                continue
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
            if path.stat().st_size > MOST_BYTES:
                sys.exit(f"{path} has {path.stat().st_size} bytes, more than {MOST_BYTES}")
            drawn.append(path)
    return drawn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS.json")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    results = read_all(options.files)
    options.out.mkdir(parents=True, exist_ok=True)
    for path in draw(results, options.out):
        print(path)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Draws the README's charts from files of results, as small SVGs, omitting charts without data.

usage: draw.py RESULTS.json… --out FOLDER

bandwidth.svg   sums of f32 over size: bandwidth, and CUB's time over gridfold's
speedup.svg     several statistics at once: the others' time over gridfold's
round_trip.svg  percentiles of a host round trip
cpu.svg         CPU contenders: their time over gridfold's
folds.svg       time over the number of folds of one column
peers.svg       PyTorch, CuPy and JAX, one call: their time over gridfold's
functions.svg   elementary functions on the CPU: other libraries' time over gridfold's

Every ratio is a contender's time over gridfold's: above 1, gridfold is faster.
"""
import argparse
import math
import pathlib
import sys
import textwrap

try:
    import matplotlib
except ImportError:
    sys.exit("draw.py needs matplotlib: pip install matplotlib, or the package python3-matplotlib")
matplotlib.use("svg")
from matplotlib import lines, pyplot  # noqa: E402: after the choice of a backend

from bars import is_peer  # noqa: E402
from contenders import GRIDFOLD, look, ordered  # noqa: E402
from functions import CASE, LIBRARIES, MODES, measured_with, name_of, ratio_of_least  # noqa: E402
from results import ResultsError, read_all, size_text  # noqa: E402
from table import WORDS, number, ratio, two_to  # noqa: E402

MOST_BYTES = 90_000
WIDTH = 8.4  # inches
GREY = "#555555"
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "gridfold", "font.family": "sans-serif", "font.size": 9,
         "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
         "axes.titlesize": 9, "axes.titlelocation": "left", "axes.axisbelow": True, "figure.facecolor": "white",
         "savefig.facecolor": "white", "path.simplify": True}
OVER_GRIDFOLD = "time ÷ gridfold's"
ORDER = ("sum", "cubes", "five", "dozen", "sixteen", "zscore")  # of the panels


def new_axes(title, caption, height, *, legend=(), note="", panels=(1, 1), **shape):
    """The panels of a figure, row by row. Title and legend, as (label, colour, line style), are above them, note and
    caption below: they cannot cover what is drawn."""
    figure, axes = pyplot.subplots(*panels, figsize=(WIDTH, height), layout="constrained", squeeze=False, **shape)
    figure.text(0.008, 1 - 0.06 / height, title, va="top", fontsize=11)
    handles = [lines.Line2D([], [], color=colour, linestyle=style, linewidth=2.5) for _, colour, style in legend]
    if legend:
        figure.legend(handles, [label for label, *_ in legend], loc="upper left", ncol=len(legend), frameon=False,
                      bbox_to_anchor=(0, 1 - 0.24 / height), fontsize=9, handlelength=2, columnspacing=1.5)
    small = [*textwrap.wrap(note, 150), caption]
    figure.text(0.008, 0.05 / height, "\n".join(small), va="bottom", fontsize=7.5, color=GREY, linespacing=1.35)
    head, foot = 0.58 if legend else 0.32, 0.15 * len(small) + 0.1
    figure.get_layout_engine().set(rect=(0, foot / height, 1, 1 - (head + foot) / height))
    return axes.flatten()


def size_axis(axes, sizes):
    """A logarithmic x axis with every second power of two where there are many."""
    axes.set_xscale("log", base=2)
    shown = sorted(sizes)
    shown = shown[:: max(1, -(-len(shown) // 14))]
    axes.set_xticks(shown, [size_text(size) for size in shown])
    axes.set_xlabel("bytes")
    axes.minorticks_off()
    return shown


def line_of(contender, style):
    """The style of a contender's line: with a marker at each size, unless it is dashed."""
    marker = "o" if style == "-" else None
    return {"linestyle": style, "color": look(contender).colour, "marker": marker, "markersize": 3}


def bandwidth(results):
    cases = results.cases("sum", "f32", "graph")
    if not cases:
        return None
    shown = [("ceiling", "--"), ("cub", "-"), ("gridfold", "-")]
    names = {"ceiling": "best kernel that only reads"}
    ahead = [case.bytes for case in cases if (results.ratio(case, "ceiling") or 0) > 1]
    note = ("Dashed line above 1: gridfold takes less time than a kernel that only reads the array. Calls run back to "
            "back; up to 64 MiB, gridfold's next kernel starts while the last block of the previous one combines, and "
            "its first bytes are prefetched into the L2. The kernel that only reads does neither.") if ahead else ""
    top, below = new_axes(
        "Sum of f32, the array not in the L2: bandwidth, and time over gridfold's", results.caption("graph"), 6.2,
        note=note, panels=(2, 1), sharex=True,
        legend=[(names.get(name, look(name).name), look(name).colour, style) for name, style in shown])
    for name, style in shown:
        line = line_of(name, style)
        known = [case for case in cases if results.us(case, name) and results.us(case, "gridfold")]
        sizes = [case.bytes for case in known]
        top.plot(sizes, [case.bytes / results.us(case, name) / 1e3 for case in known], **line)
        below.plot(sizes, [results.ratio(case, name) for case in known], label=name, **line)
    top.set_ylim(bottom=0)
    top.set_ylabel("GB/s")
    below.set_ylabel(f"{OVER_GRIDFOLD}\n(above 1: gridfold is faster)")
    labelled = size_axis(below, [case.bytes for case in cases])
    values = [results.ratio(case, "cub") for case in cases]
    for before, case, value, after in zip([None, *values], cases, values, [*values[1:], None]):
        if case.bytes in labelled and value:
            dip, falls = value < min(before or math.inf, after or 0), (after or value) < 0.98 * value < (before or 0)
            below.annotate(ratio(value), (case.bytes, value), (0, -12) if dip else (2, 4) if falls else (0, 5),
                           textcoords="offset points", ha="left" if falls else "center", fontsize=8)
    below.margins(y=0.1)
    return top.figure


def draw_bars(axes, groups):
    """Horizontal bars, group below group: {label: [(value, or why there is none; colour; whether filled)]}. On a
    logarithmic axis, which has no 0, they begin at 1."""
    start = 1 if axes.get_xscale() == "log" else 0
    for group, members in enumerate(groups.values()):
        height = 0.84 / len(members)
        for member, (value, colour, filled) in enumerate(members):
            y = group + (member - (len(members) - 1) / 2) * height
            missing = isinstance(value, str)
            if not missing:
                axes.barh(y, value - start, 0.9 * height, left=start, facecolor=colour if filled else "white",
                          edgecolor=colour, linewidth=0.8)
            text, end = (value, 1) if missing else (number(value), max(value, 1))
            axes.annotate(text, (end, y), (3, 0), textcoords="offset points", va="center", fontsize=7.5,
                          color=GREY if missing else "black", style="italic" if missing else "normal")
    axes.set_yticks(range(len(groups)), groups)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.axvline(1, color=GRIDFOLD, linewidth=1.5)
    axes.set_xlabel(OVER_GRIDFOLD)


def log_axis(axes, low, high):
    """A logarithmic axis of ratios with plain numbers."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in (1, 10, 100, 1000) if tick < high])
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def panel_title(case):
    return WORDS.get(case.workload, case.workload) + (f", {case.type}" if case.workload == "sum" else "")


def panel_order(case):
    """The workloads in ORDER, then the others."""
    return ORDER.index(case.workload) if case.workload in ORDER else len(ORDER), case


def bar_of(results, case, name, filled=True):
    """One of draw_bars(): a contender's time over gridfold's."""
    return results.ratio(case, name) or results.why_missing(case, name), look(name).colour, filled


def speedup(results):
    names = {"cub": "CUB, one call per statistic", "cub_struct": look("cub_struct").name,
             "gridfold_unfused": look("gridfold_unfused").name}
    cases = [case for workload in ("five", "sixteen") for case in results.cases(workload, mode="graph")
             if workload != "five" or case.bytes in two_to(16, 22, 28, 34)]
    groups = {}
    for case in cases:
        if any(results.ratio(case, name) for name in names):
            groups.setdefault(case.workload, []).append(case)
    if not groups:
        return None
    panels = new_axes("Several statistics: time over that of gridfold's one sweep", results.caption("graph"), 3.6,
                      panels=(1, len(groups)), sharex=True,
                      legend=[("gridfold, one sweep", GRIDFOLD, "-"),
                              *((label, look(name).colour, "-") for name, label in names.items())])
    for axes, cases in zip(panels, groups.values()):
        draw_bars(axes, {f"{size_text(case.bytes)} B": [bar_of(results, case, name) for name in names]
                         for case in cases})
        axes.set_title(panel_title(cases[0]))
    panels[0].set_xlim(0, 1.12 * panels[0].get_xlim()[1])
    return panels[0].figure


def round_trip(results):
    percentiles = ("p01", "p25", "p50", "p75", "p99", "p999")
    found = {name: [results.counter(case, name, p) for p in percentiles]
             for case in results.cases("round_trip", mode="call") for name in results.contenders(case)}
    found = dict(sorted(((name, p) for name, p in found.items() if None not in p), key=lambda item: item[1][2]))
    if not found:
        return None
    names = {"cub": "CUB, then a copy and a wait"}
    note = "Line: percentiles 1 to 99 of the calls; box: 25 to 75; dot: the median; tick: percentile 99.9."
    axes, = new_axes("Round trip: from the call to the result in the host's hands, sum of cubes of 2^16 f32",
                     results.caption("call"), 2.6, note=note)
    for y, (name, (p01, p25, p50, p75, p99, p999)) in enumerate(found.items()):
        colour = look(name).colour
        axes.plot([p01, p99], [y, y], color=colour, linewidth=2)
        axes.barh(y, p75 - p25, 0.5, left=p25, color=colour)
        axes.plot(p50, y, "o", color="white", markeredgecolor=colour, markersize=5)
        axes.plot(p999, y, "|", color=colour, markersize=11, markeredgewidth=2)
        axes.annotate(f"median {number(p50)}, p99 {number(p99)}, p99.9 {number(p999)}", (p999, y), (8, 0),
                      textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(found)), [names.get(name, look(name).name) for name in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0, 1.65 * max(p[-1] for p in found.values()))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("µs")
    return axes.figure


def cpu(results):
    cases = [case for case in results.cases(mode="cpu") if results.us(case, "ceiling") and results.us(case, "gridfold")]
    if not cases:
        return None
    largest = max(case.bytes for case in cases)
    smaller = [(results.ratio(case, "gridfold", rival), case, rival) for case in cases if case.bytes < largest
               and (rival := results.best(case, but=("gridfold", "ceiling", "copy_ceiling")))]
    cases = sorted((case for case in cases if case.bytes == largest), key=panel_order)
    names = ordered({name for case in cases for name in results.contenders(case)} - {"gridfold"})
    note = ""
    if smaller:
        lead, case, rival = max(smaller)
        note = (f"Not shown: smaller columns, in which the fastest other is up to {number(lead)} times as fast as "
                f"gridfold ({panel_title(case)}, {size_text(case.bytes)} bytes: {look(rival).name}).")
    columns = 5
    panels = new_axes(f"CPU, columns of {size_text(largest)} bytes: time over gridfold's", results.caption("cpu"), 4.4,
                      note=note, panels=(-(-len(cases) // columns), columns), sharex=True, sharey=True)
    for axes, case in zip(panels, cases):
        log_axis(axes, 0.18, 900)
        draw_bars(axes, {look(name).name: [bar_of(results, case, name)] for name in names})
        axes.set_title(f"{panel_title(case)}\ngridfold {number(results.us(case, 'gridfold') / 1e3)} ms")
        axes.label_outer()
    for axes in panels[len(cases):]:
        axes.set_axis_off()
    return panels[0].figure


def folds(results):
    counted = sorted((int(case.workload.removeprefix("folds_")), case) for case in results.cases(mode="graph")
                     if case.workload.startswith("folds_"))
    if not counted:
        return None
    size = max({case.bytes for _, case in counted}, key=lambda b: (sum(case.bytes == b for _, case in counted), b))
    counted = [(count, case) for count, case in counted if case.bytes == size]
    shown = [("ceiling", "--", "reading the column once"), ("gridfold_unfused", "-", look("gridfold_unfused").name),
             ("gridfold", "-", "gridfold, fused")]
    times = {name: [(count, us) for count, case in counted if (us := results.us(case, name))] for name, *_ in shown}
    note = "Folds are, in turn, sum(x * c) and max(x + c), each with a constant of its own: no two share an operation."
    if len(times["gridfold_unfused"]) > 1:
        (first, least), *_, (last, most) = times["gridfold_unfused"]
        further = number((most - least) / (last - first))
        note += (f" Not fused, each further one takes {further} µs, since x * c or x + c is written to memory and read "
                 f"again (the first, x * 1, needs neither); measured up to {last} folds.")
    axes, = new_axes(f"Many folds of one column of {size_text(size)} bytes", results.caption("graph"), 4.4, note=note,
                     legend=[(label, look(name).colour, style) for name, style, label in shown])
    for name, style, _ in shown:
        axes.plot(*zip(*times[name]), **line_of(name, style))
    labels = {(count, number(us)): us for name in ("gridfold", "gridfold_unfused") for count, us in times[name]}
    for (count, text), us in labels.items():
        axes.annotate(text, (count, us), (-4, 4), textcoords="offset points", ha="right", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.4, high * 1.2)
    ticks = [digit * 10.0 ** exponent for exponent in range(-2, 9) for digit in (1, 2, 5)]
    axes.set_yticks([tick for tick in ticks if low / 1.4 <= tick <= high * 1.2])
    axes.yaxis.set_major_formatter("{x:,g}")
    counts = sorted({count for count, _ in counted})
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("number of folds")
    axes.set_ylabel("µs")
    return axes.figure


def peers(results):
    sizes = {}
    for case in results.cases(mode="call"):
        if results.us(case, "gridfold") and any(map(is_peer, results.contenders(case))):
            sizes.setdefault((case.workload, case.type), []).append(case)
    if not sizes:
        return None
    ends = sorted(((cases[0], cases[-1]) for cases in sizes.values()), key=lambda pair: panel_order(pair[0]))
    names = ordered({name for pair in ends for case in pair for name in results.contenders(case) if is_peer(name)})
    small, large = (size_text(case.bytes) for case in ends[0])
    versions = ", ".join(f"{library} {version}" for library, version in results.versions.items())
    panels = new_axes(f"One call until the host has the result, {small} bytes (white bars) and {large} bytes (filled)",
                      f"{results.caption('call')}, {versions}", 4.6, note=cupy_note(results), panels=(1, len(ends)),
                      sharex=True, sharey=True)
    for axes, pair in zip(panels, ends):
        log_axis(axes, 0.9, 400)
        draw_bars(axes, {look(name).name: [bar_of(results, pair[0], name, filled=False), bar_of(results, pair[1], name)]
                         for name in names})
        ours = ", ".join(number(results.us(case, "gridfold")) for case in pair)
        axes.set_title(f"{panel_title(pair[0])}\ngridfold {ours} µs")
        axes.label_outer()
    return panels[0].figure


def cupy_note(results):
    """Why CuPy's z-score is so slow, with its worst ratio."""
    known = [(value, case.bytes) for case in results.cases("zscore", mode="call")
             if (value := results.ratio(case, "cupy"))]
    if not known:
        return ""
    worst, size = max(known)
    return (f"CuPy's z-score (up to {number(worst)} times gridfold's time, at {size_text(size)} bytes): its variance "
            "kernel reads two arrays, x and the mean. CuPy hands only reductions of one array to CUB; others run in "
            "one block. What failed or gave a wrong result is not timed.")


def functions(results):
    cases = [case for mode in MODES for case in results.cases(mode=mode) if case.workload.startswith(CASE)]
    if not cases:
        return None
    names = sorted({name_of(case) for case in cases}, reverse=True)
    kinds = [(mode, type) for mode in MODES for type in ("f32", "f64")]
    panels = new_axes("Elementary functions, one thread, 4 Mi elements: time over gridfold's",
                      f"{measured_with(results)}. Right of the line, gridfold is faster.", 5.6, panels=(1, len(kinds)),
                      sharex=True, sharey=True,
                      legend=[(look(name).name, look(name).colour, "-") for name in LIBRARIES])
    for axes, (mode, type) in zip(panels, kinds):
        axes.set_xscale("log", base=2)
        for name in LIBRARIES:
            shown = [(value, names.index(name_of(case))) for case in cases
                     if (case.mode, case.type) == (mode, type) and (value := ratio_of_least(results, case, name))]
            # Dots as lines of no length: in one path, an SVG of a third of the size.
            dots = [point for value, y in shown for point in ((value, y), (value, y), (math.nan, y))]
            axes.plot(*zip(*dots), color=look(name).colour, linewidth=4.5, solid_capstyle="round")
        axes.axvline(1, color=GRIDFOLD, linewidth=1.5)
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title(f"{type}, {mode}")
        axes.set_xlabel(OVER_GRIDFOLD)
    return panels[0].figure


CHARTS = {"bandwidth": bandwidth, "speedup": speedup, "round_trip": round_trip, "cpu": cpu, "folds": folds,
          "peers": peers, "functions": functions}


def draw(results, folder):
    """The paths of the charts."""
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
    try:
        for path in draw(results, options.out):
            print(path)
    except ResultsError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

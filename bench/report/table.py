#!/usr/bin/env python3
"""The results that a README shows, as Markdown, from files of results.

usage: table.py [--brief] RESULTS.json…                       prints them
       table.py [--brief] RESULTS.json… --check README.md     exits 1 if what stands there between the two lines
                                                              <!-- bench:begin --> and <!-- bench:end --> differs
       table.py [--brief] RESULTS.json… --write README.md     puts them there

--brief: the most important rows, and those where gridfold is behind.
"""
import argparse
import difflib
import pathlib
import re
import sys

from bars import TIE, all_bars, is_peer
from contenders import look
from results import read_all, size_text

BETWEEN = re.compile(r"(?<=<!-- bench:begin -->\n).*?(?=<!-- bench:end -->)", re.DOTALL)

def two_to(*exponents):
    return tuple(1 << exponent for exponent in exponents)


# The rows of the GPU's table where they were measured: workload, type (None: each), sizes in bytes (None: all).
GPU_ROWS = (
    ("sum", "f32", two_to(12, 16, 20, 24, 28, 30, 32, 34)),
    ("sum", None, two_to(20, 30)),
    ("ragged_sum", "f32", tuple(4 * 10 ** exponent for exponent in range(3, 10))),
    ("ragged_sum", None, (1000000, 2000000, 8000000)),
    ("misaligned_sum", "f32", two_to(20, 30)),
    ("cubes", "f32", two_to(20, 30)),
    ("max", "f32", two_to(12, 16, 20, 24, 30)),
    ("argmax", "f32", two_to(12, 16, 20, 24, 30)),
    ("dot", "f32", two_to(12, 16, 20, 24, 30)),
    ("five", "f32", two_to(16, 20, 24, 28, 30, 32)),
    ("dozen", "f32", two_to(16, 24, 30)),
    ("dozen_arg", "f32", two_to(30)),
    ("sixteen", "mixed", None),
    ("zscore", "f32", two_to(20, 24, 30, 32)),
    ("many", None, None),
    ("row_sums", None, None),
    ("row_maxima", None, None),
)
BRIEF_ROWS = (
    ("sum", "f32", two_to(12, 16, 20, 24, 28, 34)),
    ("sum", "i8", two_to(30)),
    ("sum", "f16", two_to(30)),
    ("argmax", "f32", two_to(20)),
    ("five", "f32", two_to(16, 24, 30)),
    ("sixteen", "mixed", (13 << 28,)),
    ("zscore", "f32", two_to(32)),
    ("many", None, None),
)
WORDS = {"five": "five statistics", "dozen": "a dozen statistics", "dozen_arg": "… with argmin and argmax",
         "sixteen": "sixteen statistics of four columns", "zscore": "z-score", "cubes": "sum of cubes",
         "misaligned_sum": "sum, not aligned", "ragged_sum": "sum of round lengths", "dot": "dot product",
         "many": "five statistics of 1,000 columns of 10,000, one launch",
         "row_sums": "sums of 1,000 rows of 10,000", "row_maxima": "maxima of 1,000 rows of 10,000"}


def number(value):
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value):
    """Three decimals below 2, to distinguish a tie from a win; else as number()."""
    if value is None:
        return ""
    return f"{value:.3f}" if value < 2 else number(value)


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") for cells in lines]


def of_ceiling(results, case):
    """The ceiling's time over ours; of a z-score, that of a read and a copy."""
    copy = results.us(case, "copy_ceiling") or 0
    ceiling, ours = results.us(case, "ceiling"), results.us(case, "gridfold")
    return (ceiling + copy) / ours if ceiling and ours else None


def title(contender):
    """A contender's name. The ladder's steps, which charts do not show, are named by what they do."""
    ladder = "ladder_"
    return contender.removeprefix(ladder).replace("_", " ") if contender.startswith(ladder) else look(contender).name


def others(results, case):
    """All contenders without their own columns or table."""
    own = ("gridfold", "cub", "ceiling", "copy_ceiling")
    found = [(name, results.ratio(case, name)) for name in sorted(results.contenders(case))
             if name not in own and not is_peer(name)]
    return "; ".join(f"{title(name)} {ratio(value)}" for name, value in found)


def gpu_rows(results, wanted_rows=GPU_ROWS):
    seen = set()
    for workload, type, sizes in wanted_rows:
        for case in results.cases(workload, type, "graph"):
            wanted = sizes is None or case.bytes in sizes
            ours = results.us(case, "gridfold")
            if not wanted or not ours or case in seen:
                continue
            seen.add(case)
            moved = results.counter(case, "gridfold", "bytes") or case.bytes
            yield [WORDS.get(workload, workload), case.type, size_text(case.bytes), number(ours),
                   f"{moved / ours / 1e3:,.0f}", ratio(of_ceiling(results, case)), ratio(results.ratio(case, "cub")),
                   others(results, case)]


def round_trip_rows(results):
    for case in results.cases("round_trip", mode="call"):
        for name in sorted(results.contenders(case)):
            p = [results.counter(case, name, percentile) for percentile in ("p01", "p50", "p99")]
            if None not in p:
                yield [name, *map(number, p)]


def ladder_rows(results):
    """The rows from the slowest to the fastest."""
    for case in results.cases("ladder", mode="graph"):
        for name, us in sorted(results.contenders(case).items(), key=lambda item: -item[1]):
            yield [name.removeprefix("ladder_"), number(us), ratio(results.ratio(case, name)),
                   results.published(case, name)]


def cubes_ladder_rows(results):
    """From the slowest to the fastest, which is from the fewest threads on."""
    for case in results.cases("cubes_ladder", mode="graph"):
        for name, us in sorted(results.contenders(case).items(), key=lambda item: -item[1]):
            clock = results.counter(case, name, "clock_us")
            yield [name.removeprefix("ladder_").replace("_", " "), number(us), "" if clock is None else number(clock),
                   ratio(results.ratio(case, name)), results.published(case, name)]


def compile_rows(results):
    for case in results.cases("compile", mode="call"):
        for name, us in results.contenders(case).items():
            yield [name.removeprefix("gridfold_").replace("_", " "), number(us / 1e3)]


def peer_rows(results):
    """The smallest and the largest size of each workload."""
    sizes = {}
    for case in results.cases(mode="call") + results.cases(mode="graph"):
        peers = {name: value for name in sorted(results.contenders(case))
                 if is_peer(name) and (value := results.ratio(case, name))}
        if peers:
            sizes.setdefault((case.workload, case.type, case.mode), []).append((case, peers))
    for measured in sizes.values():
        for case, peers in measured if len(measured) == 1 else (measured[0], measured[-1]):
            yield [case.workload, size_text(case.bytes), case.mode, number(results.us(case, "gridfold")),
                   "; ".join(f"{title(name)} {ratio(value)}" for name, value in peers.items())]


def cpu_rows(results):
    for case in results.cases(mode="cpu"):
        ours = results.us(case, "gridfold")
        if case.bytes != 1 << 30 or not ours:
            continue
        rival = results.best(case, but=("gridfold", "ceiling", "copy_ceiling"))
        yield [case.workload, case.type, number(ours / 1e3), ratio(of_ceiling(results, case)), title(rival) if rival else "",
               ratio(results.ratio(case, rival))]


def bar_rows(results):
    for bar in all_bars(results):
        if not bar.points:
            continue
        ties = f", {len(bar.tied)} of {len(bar.points)} tied" if bar.tied else ""
        yield [bar.measure, bar.need, f"{ratio(bar.worst.value)} ({bar.worst.where})", ratio(bar.mean),
               bar.verdict + ties]


GPU_HEAD = ["work", "type", "bytes", "µs", "GB/s", "of the ceiling", "CUB ÷ ours", "others ÷ ours"]


def gpu_caption(results):
    return (f"{results.caption('graph')}: captured graphs, inputs and workspace cold, contenders in turn, medians. Ratios "
            "are their time over ours; the ceiling is the best of several kernels that only read the same bytes (z-score: "
            "read them, then copy them). Bytes are those of the input; GB/s count the output, too. Within 3 % is a tie.")


def behind_rows(results):
    """The contenders that are ahead by more than a tie: on a GPU each by workload, on the CPU the best of a workload."""
    own = ("ceiling", "copy_ceiling")
    worst = {}
    for case in results.cases():
        for name in results.contenders(case) if results.us(case, "gridfold") else ():
            value = results.ratio(case, name)
            if name in own or name.startswith(("gridfold", "ladder")) or not value or value >= TIE:
                continue
            place = "CPU" if case.mode == "cpu" else "GPU"
            worst.setdefault((place, case.workload, name if place == "GPU" else ""), []).append((value, case, name))
    for (place, workload, _), found in sorted(worst.items(), key=lambda item: (item[0][0] == "CPU", min(item[1])[0])):
        value, case, name = min(found)
        yield [place, WORDS.get(workload, workload), title(name), f"{value:.2f}", f"{case.type}, {size_text(case.bytes)}",
               size_text(max(case.bytes for _, case, _ in found))]


BEHIND = "Where others are ahead by more than a tie: the worst ratio, where it is, and the largest size at which it is so."


def brief(results):
    behind = markdown(["on", "work", "ahead", "its time ÷ ours", "at", "up to"], list(behind_rows(results)))
    return "\n".join([gpu_caption(results), "", *markdown(GPU_HEAD, list(gpu_rows(results, BRIEF_ROWS))), "",
                      BEHIND, "", *behind, ""])


def tables(results):
    """The text between the two marks."""
    parts = (
        (gpu_caption(results), GPU_HEAD, gpu_rows(results)),
        (f"{results.caption('call')}: a round trip, µs from the call to the result in the host's hands; the sum of cubes "
         "of 64 Ki f32.", ["way", "p1", "p50", "p99"], round_trip_rows(results)),
        ("Compiling it in a fresh process, without and with the kernel in the on-disk cache.", ["cache", "ms"],
         compile_rows(results)),
        ("The classic ladder at 4 Mi f32. Published are its authors' times on cards of their day: Wilt's of f32, where CUB took "
         "49 µs; Harris' of i32 on a G80.", ["step", "µs", "its time ÷ gridfold's", "published"], ladder_rows(results)),
        ("The sum of cubes of 1 Mi i32 by ever more threads: by events around it, and by the clocks of the kernel itself.",
         ["threads", "µs", "by the kernel's clocks, µs", "its time ÷ gridfold's", "published"], cubes_ladder_rows(results)),
        ("PyTorch, CuPy and JAX on the same machine, each in a process of its own: their time over gridfold's.",
         ["work", "bytes", "mode", "gridfold, µs", "others ÷ ours"], peer_rows(results)),
        (f"{results.caption('cpu')}: columns of 2^30 bytes.",
         ["work", "type", "ms", "of the read bandwidth", "fastest other", "its time ÷ ours"], cpu_rows(results)))
    lines = []
    for text, head, rows in parts:
        rows = list(rows)
        if rows:
            lines += [text, "", *markdown(head, rows), ""]
    measured = markdown(["measure", "bar", "worst point", "geometric mean", ""], list(bar_rows(results)))
    lines += ["<details><summary>Every bar against what was measured</summary>", "", *measured, "", "</details>", ""]
    return "\n".join(lines)


def checked_readme(path):
    text = path.read_text()
    if len(BETWEEN.findall(text)) != 1:
        sys.exit(f"{path} has no one part between <!-- bench:begin --> and <!-- bench:end -->")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="RESULTS.json")
    parser.add_argument("--brief", action="store_true")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", type=pathlib.Path, metavar="README.md")
    action.add_argument("--write", type=pathlib.Path, metavar="README.md")
    options = parser.parse_args()
    made = "\n" + (brief if options.brief else tables)(read_all(options.files))
    if options.write:
        options.write.write_text(BETWEEN.sub(lambda _: made, checked_readme(options.write)))
    elif options.check:
        there = BETWEEN.search(checked_readme(options.check)).group()
        difference = list(difflib.unified_diff(there.splitlines(), made.splitlines(), str(options.check),
                                               "the results", lineterm=""))
        if there != made:
            print("\n".join(difference) or "white space differs")
            sys.exit(1)
    else:
        print(made.strip("\n"))


if __name__ == "__main__":
    main()

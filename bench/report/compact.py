"""Makes a file of Google Benchmark small enough to commit: for each name its median, least and greatest time over the rounds,
one name a line.

usage: compact.py FILE
"""

import json
import statistics
import sys


def compact(measured):
    """The file with one entry a name, in order of first appearance; failed entries are unchanged."""
    times, entries = {}, {}
    for entry in measured["benchmarks"]:
        if entry.get("run_type", "iteration") != "iteration":
            continue
        if "error_occurred" in entry:
            entries.setdefault(entry["name"], entry)
            continue
        times.setdefault(entry["name"], []).append(entry["real_time"])
        entries.setdefault(entry["name"], entry)
    needless = {"family_index", "per_family_instance_index", "run_name", "repetitions", "threads", "iterations", "cpu_time"}
    kept = []
    for name, entry in entries.items():
        small = {key: value for key, value in entry.items() if key not in needless}
        if name in times:
            small["real_time"] = round(statistics.median(times[name]), 4)
            if len(times[name]) > 1:
                small |= {"rounds": len(times[name]), "least": round(min(times[name]), 4), "most": round(max(times[name]), 4)}
        kept.append({key: round(value, 4) if isinstance(value, float) else value for key, value in small.items()})
    context = {key: value for key, value in measured["context"].items() if key not in {"host_name", "executable", "caches"}}
    return {"context": context, "benchmarks": kept}


def to_text(results):
    lines = ",\n".join(json.dumps(entry) for entry in results["benchmarks"])
    return f'{{"context": {json.dumps(results["context"])},\n"benchmarks": [\n{lines}\n]}}\n'


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        measured = json.load(file)
    with open(arguments[0], "w", encoding="utf-8") as file:
        file.write(to_text(compact(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

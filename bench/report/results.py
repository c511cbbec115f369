"""Reads the JSON files of bench_gpu, bench_cpu and bench/peers: the median time of every
workload/type/bytes:B/mode/contender, and who measured it where."""
import json
import pathlib
import re
import statistics
import sys
import typing

NAME = re.compile(r"(?P<workload>[^/]+)/(?P<type>[^/]+)/bytes:(?P<bytes>\d+)/(?P<mode>[^/]+)/(?P<contender>[^/]+)")


class Case(typing.NamedTuple):
    """The key of a case, shared by its contenders."""
    workload: str
    type: str
    bytes: int
    mode: str


class ResultsError(Exception):
    """The files have another form than this module reads."""


def size_text(size):
    """A number of bytes or elements as people write it: 2^20, 13·2^28, 1000."""
    exponent = (size & -size).bit_length() - 1
    odd = size >> exponent
    if exponent < 8 or odd > 99:
        return str(size)
    return f"2^{exponent}" if odd == 1 else f"{odd}·2^{exponent}"


class Results:
    """All times are microseconds a call."""

    def __init__(self):
        self._times = {}     # Case -> {contender: median}
        self._counters = {}  # (Case, contender) -> {name: number}
        self._labels = {}    # (Case, contender) -> text
        self._source = {}    # (Case, contender) -> the file
        self._left_out = {}  # library/workload/2^log2 of the elements/mode/contender -> why
        self.versions = {}   # library of bench/peers -> its version
        self.contexts = {}   # mode -> context of a file that measured it

    def read(self, path):
        """Adds a file. A contender may be in one file only: ratios are of one run."""
        try:
            content = json.loads(pathlib.Path(path).read_text())
            context, entries = content["context"], content["benchmarks"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: not a file of results: {error}") from error
        self._left_out |= context.get("left_out", {})
        self.versions |= context.get("versions", {})
        times = {}
        for entry in entries:
            match = NAME.fullmatch(entry["name"])
            if not match:
                raise ResultsError(f"{path}: not workload/type/bytes:B/mode/contender: {entry['name']}")
            if entry.get("run_type") != "iteration" or entry.get("error_occurred") or entry.get("skipped"):
                continue
            if entry["time_unit"] != "us":
                raise ResultsError(f"{path}: {entry['name']} is in {entry['time_unit']}, not us")
            case = Case(match["workload"], match["type"], int(match["bytes"]), match["mode"])
            key = case, match["contender"]
            if self._source.setdefault(key, path) != path:
                raise ResultsError(f"{entry['name']} is in both {self._source[key]} and {path}")
            times.setdefault(key, []).append(entry["real_time"])
            self._counters[key] = {n: v for n, v in entry.items() if isinstance(v, (int, float))}
            self._labels[key] = entry.get("label", "")
            if match["contender"].startswith("gridfold") or case.mode not in self.contexts:
                self.contexts[case.mode] = context
        for (case, contender), values in times.items():
            self._times.setdefault(case, {})[contender] = statistics.median(values)

    def cases(self, workload=None, type=None, mode=None):
        """The cases sorted by name, with sizes as numbers."""
        return sorted(case for case in self._times
                      if workload in (None, case.workload) and type in (None, case.type) and mode in (None, case.mode))

    def contenders(self, case):
        return self._times.get(case, {})

    def us(self, case, contender):
        """The median, or None if it was not measured."""
        return self._times.get(case, {}).get(contender)

    def why_missing(self, case, contender):
        """In a word or two, for a contender without a time: bench/peers says which results were wrong."""
        elements = int(self.counter(case, "gridfold", "elements") or 0)
        ending = f"/{case.workload}/2^{elements.bit_length() - 1}/{case.mode}/{contender}"
        why = next((why for what, why in self._left_out.items() if what.endswith(ending)), None)
        return "not measured" if why is None else "wrong result" if why.startswith("wrong result") else "failed"

    def least(self, case, contender):
        """The least time over the rounds, which other programs on the machine disturb least; None if not measured."""
        return self.counter(case, contender, "least") or self.us(case, contender)

    def counter(self, case, contender, name):
        return self._counters.get((case, contender), {}).get(name)

    def label(self, case, contender):
        return self._labels.get((case, contender), "")

    def published(self, case, contender):
        """The time that the contender's author published, or ""."""
        label = self._labels.get((case, contender), "")
        return label.removeprefix("published: ") if label.startswith("published: ") else ""

    def ratio(self, case, contender, to="gridfold"):
        """The contender's time over that of `to`, or None."""
        over, under = self.us(case, contender), self.us(case, to)
        return over / under if over and under else None

    def best(self, case, but=()):
        """The fastest contender except those, or None."""
        others = {name: us for name, us in self.contenders(case).items() if name not in but}
        return min(others, key=others.get) if others else None

    def caption(self, *modes):
        """Card or processor, driver and date of the measurements in these modes."""
        context = next((self.contexts[mode] for mode in modes if mode in self.contexts), {})
        parts = [context.get("gpu") or context.get("gridfold"),
                 f"driver {context['driver']}" if "driver" in context else None,
                 f"CUDA {context['cuda']}" if "cuda" in context else None,
                 f"CUB {context['cub']}" if "cub" in context else None,
                 context.get("date", "")[:10]]
        return ", ".join(part for part in parts if part)


def read_all(paths):
    """The results of all files. Exits with a message on stderr if they cannot be read."""
    results = Results()
    try:
        for path in paths:
            results.read(path)
    except ResultsError as error:
        sys.exit(str(error))
    return results

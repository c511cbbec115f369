"""Tests of the table, the bars and the charts, with artificial results and with the committed ones.

usage: python3 -m unittest discover -s bench/report -p '*_test.py'      (without matplotlib, charts are not tested)
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import bars
import contenders
import functions
import table
from results import Results, ResultsError, read_all, size_text

try:
    import draw
except SystemExit:  # there is no matplotlib
    draw = None

HERE = pathlib.Path(__file__).resolve().parent
COMMITTED = HERE.parent / "results"
CONTEXT = {"date": "2026-01-02T03:04:05+00:00", "gpu": "Some GPU", "driver": "580.1", "cuda": "13.0", "cub": "3.0.1"}


def entries(name, times, **counters):
    return [{"name": name, "run_type": "iteration", "repetition_index": i, "real_time": t, "time_unit": "us", **counters}
            for i, t in enumerate(times)]


def sum_entries(log2, gridfold, cub, ceiling):
    prefix = f"sum/f32/bytes:{1 << log2}/graph/"
    return [entry for name, us in (("gridfold", gridfold), ("cub", cub), ("ceiling", ceiling))
            for entry in entries(prefix + name, [us * 5, us, us * 0.9], bytes=1 << log2)]


class FilesTest(unittest.TestCase):
    """A folder of results for each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, benchmarks, name="results.json", context=CONTEXT):
        path = self.folder / name
        path.write_text(json.dumps({"context": context, "benchmarks": benchmarks}))
        return str(path)

    def read(self, benchmarks):
        results = Results()
        results.read(self.file(benchmarks))
        return results

    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, str(HERE / name), *arguments], capture_output=True, text=True)


class ReportTest(FilesTest):
    def bar(self, benchmarks, measure):
        found = [bar for bar in bars.all_bars(self.read(benchmarks)) if bar.measure == measure]
        self.assertEqual(len(found), 1, measure)
        return found[0]

    def test_a_time_is_the_median_of_its_repetitions(self):
        results = self.read(sum_entries(20, 3.0, 4.5, 2.7))
        case = results.cases("sum")[0]
        self.assertEqual(results.us(case, "gridfold"), 3.0)
        self.assertEqual(results.ratio(case, "cub"), 1.5)
        self.assertIsNone(results.ratio(case, "thrust"))

    def test_a_failed_entry_counts_for_nothing(self):
        failed = entries("sum/f32/bytes:1024/graph/gridfold", [0.0], error_occurred=True)
        self.assertEqual(self.read(failed).cases(), [])

    def test_sizes_are_ordered_as_numbers(self):
        results = self.read(sum_entries(20, 3, 3, 3) + sum_entries(10, 1, 1, 1))
        self.assertEqual([case.bytes for case in results.cases()], [1 << 10, 1 << 20])

    def test_one_contender_in_two_files_is_refused(self):
        results = Results()
        results.read(self.file(sum_entries(20, 3, 4, 2)))
        with self.assertRaisesRegex(ResultsError, "is in both"):
            results.read(self.file(sum_entries(20, 3, 4, 2), "other.json"))

    def test_another_name_or_unit_is_refused(self):
        with self.assertRaisesRegex(ResultsError, "not workload/type"):
            self.read(entries("sum/f32/1024/graph/gridfold", [1.0]))
        with self.assertRaisesRegex(ResultsError, "in ns, not us"):
            self.read([entry | {"time_unit": "ns"} for entry in entries("sum/f32/bytes:1024/graph/gridfold", [1.0])])

    def test_sizes_in_words(self):
        self.assertEqual([size_text(n) for n in (1 << 20, 13 << 28, 1000, 128)], ["2^20", "13·2^28", "1000", "128"])

    def test_a_bar_names_what_misses_and_what_ties(self):
        bar = self.bar(sum_entries(10, 1, 1.5, 1) + sum_entries(12, 1, 0.98, 1) + sum_entries(14, 1, 0.9, 1),
                       "sum f32: cub ÷ gridfold")
        self.assertEqual(bar.verdict, "missed")
        self.assertEqual([point.where for point in bar.missed], ["2^14"])
        self.assertEqual([point.where for point in bar.tied], ["2^12"])
        self.assertIn("worst 0.900 at 2^14", bars.line(bar))

    def test_a_mean_may_miss_where_no_point_does(self):
        bar = self.bar(sum_entries(10, 1, 1.01, 1), "sum f32: cub ÷ gridfold")
        self.assertEqual((bar.verdict, bar.missed), ("missed", []))

    def test_a_bar_from_above(self):
        prefix = f"five/f32/bytes:{1 << 30}/graph/"
        bar = self.bar(entries(prefix + "gridfold", [106.0]) + entries(prefix + "gridfold_sum", [100.0]),
                       "five: five ÷ one sum")
        self.assertEqual(bar.verdict, "missed")
        self.assertAlmostEqual(bar.worst.value, 1.06)

    def test_round_trips_and_peers(self):
        call = f"cubes/f32/bytes:{1 << 18}/call/"
        benchmarks = (entries(f"round_trip/f32/bytes:{1 << 18}/call/gridfold_prepared", [6.0], p50=6.0) +
                      entries(f"round_trip/f32/bytes:{1 << 18}/call/cub", [20.0], p50=20.0) +
                      entries(call + "gridfold", [6.0]) + entries(call + "jax", [24.0]) + entries(call + "cub", [1.0]))
        self.assertEqual(self.bar(benchmarks, "round trip, µs").verdict, "met")
        self.assertAlmostEqual(self.bar(benchmarks, "round trip: cub ÷ gridfold").worst.value, 20 / 6)
        peers = self.bar(benchmarks, "peers, a call: peer ÷ gridfold")
        self.assertEqual([(p.where, p.value) for p in peers.points], [("cubes 2^18 jax", 4.0)])

    def test_the_cpus_best_contender_is_the_fastest_other(self):
        prefix = f"sum/f32/bytes:{1 << 30}/cpu/"
        bar = self.bar([entry for name, us in (("gridfold", 100), ("loop", 300), ("eigen", 90), ("ceiling", 80))
                        for entry in entries(prefix + name, [us])], "CPU, 2^30 bytes: best contender ÷ gridfold")
        self.assertEqual((bar.worst.where, bar.worst.value), ("sum f32 against eigen", 0.9))

    def test_where_others_are_ahead(self):
        prefix = "sum/f32/bytes:4096/cpu/"
        results = self.read(sum_entries(12, 2.0, 1.9, 1.0) + sum_entries(14, 2.0, 1.94, 1.0) +
                            entries(prefix + "gridfold", [4.0]) + entries(prefix + "eigen", [1.0]) +
                            entries(prefix + "loop", [2.0]))
        self.assertEqual(list(table.behind_rows(results)),
                         [["GPU", "sum", "CUB", "0.95", "f32, 2^12", "2^12"],
                          ["CPU", "sum", "Eigen, one thread", "0.25", "f32, 2^12", "2^12"]])

    def test_no_data_is_said(self):
        bar = self.bar(sum_entries(10, 1, 2, 1), "many: ceiling ÷ gridfold")
        self.assertEqual(bars.line(bar), "no data | many: ceiling ÷ gridfold | >= 0.5")

    def test_a_readme_with_the_tables_passes_and_one_with_others_does_not(self):
        file = self.file(sum_entries(20, 3, 4.5, 2.7))
        readme = self.folder / "README.md"
        readme.write_text("before\n<!-- bench:begin -->\n<!-- bench:end -->\nafter\n")
        self.assertEqual(self.run_script("table.py", file, "--check", str(readme)).returncode, 1)
        self.assertEqual(self.run_script("table.py", file, "--write", str(readme)).returncode, 0)
        written = readme.read_text()
        self.assertIn("| sum | f32 | 2^20 | 3.00 | 350 | 0.900 | 1.500 | |", written)
        self.assertIn("Some GPU, driver 580.1, CUDA 13.0, CUB 3.0.1, 2026-01-02", written)
        self.assertTrue(written.startswith("before\n<!-- bench:begin -->\n") and written.endswith("-->\nafter\n"))
        self.assertEqual(self.run_script("table.py", file, "--check", str(readme)).returncode, 0)
        readme.write_text(written.replace("350", "351"))
        self.assertEqual(self.run_script("table.py", file, "--check", str(readme)).returncode, 1)
        readme.write_text("no marks")
        self.assertIn("has no one part", self.run_script("table.py", file, "--check", str(readme)).stderr)

    def test_functions_are_compared_by_least_times(self):
        prefix = "function_exp/f32/bytes:16777216/AVX2/"
        measured = self.file(entries(prefix + "gridfold", [4200, 9000], least=4194.304, elements=1 << 22, ulps=0.851)
                             + entries(prefix + "numpy", [8000], least=6291.456, ulps=2.38), context={"gridfold": "cpu"})
        self.assertIn("| exp | f32 | 1.000 | 0.85 | 1.50 (2.38) |  |  |", functions.tables(read_all([measured])))

    def test_the_ladder_goes_from_slow_to_fast(self):
        prefix = f"ladder/f32/bytes:{1 << 24}/graph/"
        file = self.file(entries(prefix + "gridfold", [6.0]) + entries(prefix + "cub", [6.6]) +
                         entries(prefix + "ladder_serial", [90000.0], label="published: 100,307 us"))
        self.assertIn("| serial | 90,000 | 15,000 | 100,307 us |\n| cub | 6.60 | 1.100 | |\n| gridfold | 6.00 | 1.000 | |",
                      self.run_script("table.py", file).stdout)

    def test_cubes_are_shown_with_the_kernels_own_clock(self):
        prefix = f"cubes_ladder/i32/bytes:{1 << 22}/graph/"
        file = self.file(entries(prefix + "gridfold", [3.0]) + entries(prefix + "ladder_one_block", [300.0], clock_us=290.0))
        self.assertIn("| one block | 300 | 290 | 100 | |\n| gridfold | 3.00 | | 1.000 | |",
                      self.run_script("table.py", file).stdout)

    def test_why_a_contender_has_no_time(self):
        prefix = f"zscore/f32/bytes:{1 << 20}/call/"
        left_out = {"cupy/zscore/2^18/call/cupy": "wrong result 3: 1, not 2",
                    "cupy/zscore/2^18/call/cupy_fuse": "error", "jax/zscore/2^28/call/jax": "error"}
        results = Results()
        results.read(self.file(entries(prefix + "gridfold", [6.0], elements=1 << 18),
                               context=CONTEXT | {"left_out": left_out}))
        case, = results.cases()
        self.assertEqual([results.why_missing(case, name) for name in ("cupy", "cupy_fuse", "jax")],
                         ["wrong result", "failed", "not measured"])


def luminance(colour):
    """Relative luminance by WCAG 2."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def committed():
    return read_all(sorted([*COMMITTED.glob("h200-*.json"), *COMMITTED.glob("functions-*.json")]))


class ContendersTest(unittest.TestCase):
    def test_every_contender_of_the_committed_results_has_a_name_and_a_colour(self):
        results = committed()
        tables_alone = ("ladder", "cubes_ladder", "compile")
        found = {name for case in results.cases() if case.workload not in tables_alone
                 and (not case.workload.startswith(functions.CASE) or case.mode in functions.MODES)
                 for name in results.contenders(case) if not name.startswith("ladder_")}
        self.assertEqual(found, set(contenders.LOOKS))

    def test_only_ways_to_call_gridfold_share_a_colour(self):
        for name, look in contenders.LOOKS.items():
            same = {other for other, its in contenders.LOOKS.items() if its.colour == look.colour}
            self.assertTrue(same == {name} or all(other.startswith("gridfold") for other in same), same)
        self.assertEqual(len({look.name for look in contenders.LOOKS.values()}), len(contenders.LOOKS))

    def test_every_colour_is_legible_on_white(self):
        for look in contenders.LOOKS.values():
            self.assertGreaterEqual(1.05 / (luminance(look.colour) + 0.05), 3, look)

    def test_a_contender_without_a_name_is_refused(self):
        with self.assertRaisesRegex(ResultsError, "thrust2 has no name and colour: add it to LOOKS"):
            contenders.ordered({"cub", "thrust2"})


def texts(svg):
    """The texts in a chart."""
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]+)", svg)]


@unittest.skipIf(draw is None, "there is no matplotlib")
class ChartsTest(FilesTest):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            paths = draw.draw(committed(), pathlib.Path(folder))
            cls.committed = {path.stem: texts(path.read_text()) for path in paths}

    def drawn(self, path):
        """{name: what is written in the chart}, drawn from this file by the script."""
        folder = self.folder / "charts"
        done = self.run_script("draw.py", path, "--out", str(folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.stem: texts(path.read_text()) for path in folder.iterdir()}

    def test_charts_for_which_there_is_data(self):
        charts = self.drawn(self.file([entry for log2 in range(10, 31) for entry in sum_entries(log2, 2, 3, 1)]))
        self.assertEqual(list(charts), ["bandwidth"])
        self.assertIn("Some GPU, driver 580.1, CUDA 13.0, CUB 3.0.1, 2026-01-02", charts["bandwidth"])

    def test_the_ratio_panel_has_the_tables_figures(self):
        results = committed()
        _, below = draw.bandwidth(results).axes
        line, = (line for line in below.lines if line.get_label() == "cub")
        shown = {size_text(int(size)): table.ratio(value) for size, value in zip(*line.get_data())}
        cells = {row[2]: row[6] for row in table.gpu_rows(results) if row[:2] == ["sum", "f32"]}
        self.assertEqual(cells, {size: shown[size] for size in cells})
        written = [text.get_text() for text in below.texts]
        self.assertEqual([value for value in cells.values() if value not in written], [])

    def test_a_time_below_that_of_only_reading_is_explained_where_there_is_one(self):
        def explained(ceiling):
            note = "only reads does neither"
            return any(note in text for text in self.drawn(self.file(sum_entries(20, 2, 3, ceiling)))["bandwidth"])

        self.assertTrue(explained(2.1))
        self.assertFalse(explained(1.9))

    def test_what_was_not_measured_is_said(self):
        def count(chart, words):
            return self.committed[chart].count(words)

        self.assertEqual(count("speedup", "not measured"), 8)  # sixteen: four sizes, two contenders
        self.assertEqual([count("peers", words) for words in ("wrong result", "failed", "not measured")], [2, 2, 4])
        self.assertEqual(count("cpu", "not measured"), 7)  # sums and cubes: nothing to fuse by hand

    def test_charts_name_contenders_in_words(self):
        for name, written in self.committed.items():
            self.assertEqual([text for text in written if "_" in text], [], name)

    def test_the_committed_charts_show_the_committed_results(self):
        for name, written in self.committed.items():
            self.assertEqual(texts((COMMITTED / f"{name}.svg").read_text()), written, name)

    def test_all_ratios_are_above_1_where_gridfold_is_faster(self):
        """A contender that takes twice gridfold's time is at 2, on the CPU as on the GPU."""
        for mode, name in (("cpu", "omp_simd"), ("call", "torch_eager")):
            prefix = f"cubes/f32/bytes:{1 << 30}/{mode}/"
            file = self.file(entries(prefix + "gridfold", [10.0]) + entries(prefix + "ceiling", [9.0]) +
                             entries(prefix + name, [20.0]), f"{mode}.json")
            results = Results()
            results.read(file)
            axes = {"cpu": draw.cpu, "call": draw.peers}[mode](results).axes[0]
            self.assertIn("2.00", [text.get_text() for text in axes.texts])
            self.assertEqual(max(bar.get_x() + bar.get_width() for bar in axes.patches), 2)

    def test_a_chart_is_the_same_bytes_each_time(self):
        file = self.file(sum_entries(20, 2, 3, 1))
        svgs = []
        for folder in ("first", "second"):
            self.run_script("draw.py", file, "--out", str(self.folder / folder))
            svgs.append((self.folder / folder / "bandwidth.svg").read_text())
        self.assertEqual(*svgs)


if __name__ == "__main__":
    unittest.main()

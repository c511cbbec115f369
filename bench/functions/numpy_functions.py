#!/usr/bin/env python3
"""Measures NumPy's elementary functions on the operands of bench_functions, and writes a file like its.

usage: numpy_functions.py OUT.json [--rounds N] [--set avx2|avx512]

--set: what gridfold is measured with; NumPy's loops for later instruction sets are switched off. The counter `ulps` is the largest error of the results against NumPy's functions of a wider type.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import sys
import time

import numpy

try:
    from numpy._core import _multiarray_umath as umath
except ImportError:  # NumPy 1
    from numpy.core import _multiarray_umath as umath

TABLE = pathlib.Path(__file__).with_name("functions.def")
ROW = re.compile(r"^GRIDFOLD_BENCH_FUNCTION\((\w+), (\w+), (\d), ([^,]+), ([^)]+)\)", re.MULTILINE)
ELEMENTS = 1 << 22
MODES = {"avx2": "AVX2", "avx512": "AVX-512"}  # as bench_functions calls them
DISABLED = "NPY_DISABLE_CPU_FEATURES"
NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
         "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}  # where they differ from gridfold's


def without_avx512():
    """Starts this program again with NumPy's loops for AVX-512 switched off: NumPy reads the variable when it starts."""
    unwanted = [name for name in umath.__cpu_dispatch__
                if name.startswith(("AVX512", "X86_V4")) and umath.__cpu_features__.get(name)]
    if unwanted and DISABLED not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, DISABLED: " ".join(unwanted)})


def operands(low, high, type, first=0):
    """Those of bench::functions::operands()."""
    bits = numpy.arange(first + 1, first + 1 + ELEMENTS, dtype=numpy.uint64) * numpy.uint64(0x9e3779b97f4a7c15)
    bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    bits ^= bits >> numpy.uint64(27)
    return (low + (high - low) * ((bits >> numpy.uint64(11)).astype(numpy.float64) * 2.0 ** -53)).astype(type)


def ulps(results, exact):
    """The largest error, in units of the last place that the exact results have in the type of these."""
    limits = numpy.finfo(results.dtype)
    exponents = numpy.maximum(numpy.frexp(exact)[1], limits.minexp + 1)
    units = numpy.ldexp(exact.dtype.type(1), exponents - (limits.nmant + 1))
    return float(numpy.max(abs(results.astype(exact.dtype) - exact) / units))


def measured(function, inputs, rounds):
    """The largest error, and the seconds of each round."""
    wider = {numpy.float32: numpy.float64, numpy.float64: numpy.longdouble}[inputs[0].dtype.type]
    out = numpy.zeros_like(inputs[0])
    function(*inputs, out=out)
    error, seconds = ulps(out, function(*(x.astype(wider) for x in inputs))), []
    for _ in range(rounds):
        start = time.perf_counter()
        function(*inputs, out=out)
        seconds.append(time.perf_counter() - start)
    return error, seconds


def entries(mode, rounds):
    for name, function, arity, low, high in ROW.findall(TABLE.read_text()):
        function = getattr(numpy, NAMES.get(function, function), None)
        if function is None:
            continue
        for type, numpy_type in (("f32", numpy.float32), ("f64", numpy.float64)):
            inputs = [operands(float(low), float(high), numpy_type, i << 32) for i in range(int(arity))]
            error, seconds = measured(function, inputs, rounds)
            name_of_all = f"function_{name}/{type}/bytes:{inputs[0].nbytes}/{mode}/numpy"
            print(f"{name_of_all:60}{1e6 * min(seconds):10.0f} us{error:8.3f} ulp", flush=True)
            for i, t in enumerate(seconds):
                yield {"name": name_of_all, "run_type": "iteration", "repetition_index": i, "iterations": 1,
                       "real_time": 1e6 * t, "cpu_time": 1e6 * t, "time_unit": "us", "elements": ELEMENTS,
                       "ulps": error, "label": f"NumPy {numpy.__version__}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.json")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--set", default="avx512", choices=MODES)
    options = parser.parse_args()
    if options.set == "avx2":
        without_avx512()
    features = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    context = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "numpy_loops": features}
    benchmarks = list(entries(MODES[options.set], options.rounds))
    options.out.write_text(json.dumps({"context": context, "benchmarks": benchmarks}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures NumPy on workloads of bench_cpu that write an array, and writes a file like its. NumPy uses one thread.

usage: numpy_cpu.py OUT.json [--max_bytes N] [--rounds N]
"""
import argparse
import datetime
import json
import pathlib
import time

import numpy

MIN_BYTES = 1 << 12
CLAMP_LOW, CLAMP_HIGH = numpy.float32(-0.5), numpy.float32(0.75)  # workloads.hpp


def column(n):
    """The f32 column of column.cpp."""
    bits = numpy.arange(1, n + 1, dtype=numpy.uint64)
    bits *= numpy.uint64(0x9e3779b97f4a7c15)
    bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    bits ^= bits >> numpy.uint64(27)
    numbers = (bits >> numpy.uint64(53)).astype(numpy.float32)
    return (numbers * 2 + 1 - 2048) / numpy.float32(2048)


def zscore(x, z):
    numpy.subtract(x, x.mean(), out=z)
    numpy.divide(z, x.std(), out=z)


def log1p_zscore(x, z):
    numpy.clip(x, CLAMP_LOW, CLAMP_HIGH, out=z)
    numpy.log1p(z, out=z)
    mean, deviation = z.mean(), z.std()
    numpy.subtract(z, mean, out=z)
    numpy.divide(z, deviation, out=z)


def entries(max_bytes, rounds):
    for workload in (zscore, log1p_zscore):
        size = MIN_BYTES
        while size <= max_bytes:
            x = column(size // 4)
            z = numpy.zeros_like(x)
            workload(x, z)
            name = f"{workload.__name__}/f32/bytes:{size}/cpu/numpy"
            seconds = []
            for i in range(rounds if size <= 1 << 24 else (rounds + 1) // 2):
                calls = max(1, (1 << 18) // size)
                start = time.perf_counter()
                for _ in range(calls):
                    workload(x, z)
                seconds.append((time.perf_counter() - start) / calls)
                yield {"name": name, "run_type": "iteration", "repetition_index": i, "iterations": 1,
                       "real_time": 1e6 * seconds[-1], "cpu_time": 1e6 * seconds[-1], "time_unit": "us",
                       "bytes": 3 * size, "elements": size // 4, "label": f"NumPy {numpy.__version__}"}
            print(f"{name:48}{1e6 * min(seconds):12.2f} us", flush=True)
            size *= 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.json")
    parser.add_argument("--max_bytes", type=int, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    context = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    options.out.write_text(
        json.dumps({"context": context, "benchmarks": list(entries(options.max_bytes, options.rounds))}))


if __name__ == "__main__":
    main()

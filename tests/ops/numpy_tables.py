#!/usr/bin/env python3
"""Writes what NumPy 2 answers, as tables that the tests include: numpy_types.inc and numpy_division.inc.

Run in this folder after changing it; the tables are committed, so that the tests need no NumPy."""
import itertools
import struct
import warnings

import numpy as np

warnings.simplefilter("ignore")

TYPES = {"bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "l", "u8": "B", "u16": "H", "u32": "I", "u64": "L",
         "f16": "e", "f32": "f", "f64": "d"}
NAMES = {np.dtype(code): name for name, code in TYPES.items()}

# Our name: NumPy's ufunc.
UFUNCS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "divide": np.true_divide, "floor_div": np.floor_divide,
    "remainder": np.remainder, "neg": np.negative, "abs": np.absolute, "sign": np.sign, "min": np.minimum,
    "max": np.maximum, "pow": np.power, "sqrt": np.sqrt, "cbrt": np.cbrt, "hypot": np.hypot, "exp": np.exp,
    "log1p": np.log1p, "sin": np.sin, "atan2": np.arctan2, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "isnan": np.isnan, "isfinite": np.isfinite, "less": np.less, "equal": np.equal,
    "logical_and": np.logical_and, "logical_not": np.logical_not, "bitwise_and": np.bitwise_and,
    "bitwise_xor": np.bitwise_xor, "bitwise_not": np.invert, "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
# Where we refuse bool and NumPy computes in int8.
BOOL_REFUSED = {"floor_div", "remainder", "pow", "shift_left", "shift_right"}

LITERALS = ["true", "1", "-1", "300", "1.5"]


def answer(ufunc, operands):
    try:
        return NAMES[ufunc(*operands).dtype]
    except (TypeError, OverflowError):
        return ""


def one(name):
    return np.ones(1, TYPES[name])


with open("numpy_types.inc", "w") as out:
    out.write(f"// Written by numpy_tables.py with NumPy {np.__version__}. \"\" is a refusal.\n")
    out.write("// PROMOTE(a, b, type)\n")
    for a, b in itertools.product(TYPES, TYPES):
        out.write(f'PROMOTE("{a}", "{b}", "{NAMES[np.result_type(TYPES[a], TYPES[b])]}")\n')
    out.write("// MAP_1(map, a, type)  MAP_2(map, a, b, type)\n")
    for name, ufunc in UFUNCS.items():
        for types in itertools.product(TYPES, repeat=ufunc.nin):
            if name in BOOL_REFUSED and set(types) == {"bool"}:
                continue
            quoted = ", ".join(f'"{t}"' for t in types)
            out.write(f'MAP_{ufunc.nin}("{name}", {quoted}, "{answer(ufunc, [one(t) for t in types])}")\n')
    out.write("// LITERAL(map, a, literal, type): a value of type a and a number\n")
    for name in ["add", "mul", "divide", "hypot", "min", "bitwise_or"]:
        ufunc = UFUNCS.get(name, np.bitwise_or)
        for a, literal in itertools.product(TYPES, LITERALS):
            result = answer(ufunc, [one(a), eval(literal.capitalize())])
            out.write(f'LITERAL("{name}", "{a}", {literal}, "{result}")\n')

with open("numpy_division.inc", "w") as out:
    out.write(f"// Written by numpy_tables.py with NumPy {np.__version__}.\n")
    out.write("// F32(bits of a, b, floor_divide, remainder) and F64 likewise; I32(a, b, floor_divide, remainder)\n")
    numbers = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 2.5, -7.25, 1e-40, 3e38, float("inf"), float("-inf"), float("nan")]
    for macro, kind, fmt in [("F32", np.float32, "<I"), ("F64", np.float64, "<Q")]:
        def bits(x):
            return f"0x{struct.unpack(fmt, kind(x).tobytes())[0]:x}"
        for a, b in itertools.product(numbers, numbers):
            a, b = np.array([a], kind), np.array([b], kind)
            out.write(f"{macro}({bits(a[0])}, {bits(b[0])}, {bits((a // b)[0])}, {bits((a % b)[0])})\n")
    for a, b in itertools.product([0, 1, -1, 7, -7, 2**31 - 1, -(2**31)], repeat=2):
        x, y = np.array([a], np.int32), np.array([b], np.int32)
        out.write(f"I32({a}, {b}, {(x // y)[0]}, {(x % y)[0]})\n".replace("-2147483648", "(-2147483647 - 1)"))

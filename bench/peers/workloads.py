"""The workloads' input and their right results, by NumPy in float64."""
import numpy as np

WORKLOADS = ("sum", "cubes", "five", "zscore")
CHUNK = 1 << 16  # elements; what is made of it stays in the cache


def make_input(elements):
    """Floats from -0.25 to 0.75: no sum is near 0, and a quarter of them is not positive, and all are below 1."""
    return np.random.default_rng(1).random(elements, dtype=np.float32) - np.float32(0.25)


def sample(array):
    """The compared part of an array result: about 64 Ki evenly spread elements. Works on arrays of any library."""
    return array[:: max(1, len(array) >> 16)]


class Reference:
    """The right results of each workload, and the allowed error of a result in f32."""

    def __init__(self, x):
        total = absolute = squares = cubes = 0.0
        positive = 0
        for begin in range(0, len(x), CHUNK):
            chunk = x[begin:begin + CHUNK].astype(np.float64)
            square = chunk * chunk
            total += chunk.sum()
            absolute += np.abs(chunk).sum()
            squares += square.sum()
            cubes += (square * chunk).sum()
            positive += np.count_nonzero(chunk > 0)
        mean = total / len(x)
        stddev = np.sqrt(squares / len(x) - mean * mean)  # the mean is not far from 0: nothing cancels
        z = (sample(x).astype(np.float64) - mean) / stddev
        self._right = {
            "sum": ([total], [1e-5 * absolute]),
            "cubes": ([cubes], [1e-5 * squares]),
            "five": ([total, squares, x.min(), x.max(), positive], [1e-5 * absolute, 1e-5 * squares, 0, 0, 0]),
            "zscore": (z, 1e-4),
        }

    def problem(self, workload, values):
        """What is wrong with these results of a workload, or None."""
        right, tolerance = (np.asarray(a, np.float64) for a in self._right[workload])
        values = np.asarray(values, np.float64)
        if values.shape != right.shape:
            return f"{values.shape} results instead of {right.shape}"
        off = ~(np.abs(values - right) <= tolerance)
        if not off.any():
            return None
        first = int(np.argmax(off))
        return f"wrong result {first}: {values[first]:.9g}, not {right[first]:.9g}"

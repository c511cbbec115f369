"""CuPy: ReductionKernel, cupy.fuse, and plain array expressions."""
import cupy

from contender import Contender
from workloads import sample


def versions():
    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("CuPy sees no GPU")
    return {"cupy": cupy.__version__}


def reduction(name, map_expr, reduce_expr="a + b", identity="0", out="float32 y"):
    return cupy.ReductionKernel("float32 x", out, map_expr, reduce_expr, "y = a", identity, f"peer_{name}")


# A ReductionKernel of several results would run as one block: one kernel a statistic is the faster way.
SUM = reduction("sum", "x")
SQUARES = reduction("squares", "x * x")
CUBES = reduction("cubes", "x * x * x")
LOW = reduction("low", "x", "a < b ? a : b", "__int_as_float(0x7f800000)")
HIGH = reduction("high", "x", "a < b ? b : a", "__int_as_float(0xff800000)")
POSITIVE = reduction("positive", "x > 0", out="int64 y")
FUSED_SQUARES = cupy.fuse(kernel_name="peer_fused_squares")(lambda x: cupy.sum(x * x))
FUSED_CUBES = cupy.fuse(kernel_name="peer_fused_cubes")(lambda x: cupy.sum(x * x * x))
FUSED_POSITIVE = cupy.fuse(kernel_name="peer_fused_positive")(lambda x: cupy.sum(x > 0))
FUSED_SCALE = cupy.fuse(kernel_name="peer_fused_scale")(lambda x, mean, stddev: (x - mean) / stddev)

FUNCTIONS = {
    "sum": {"cupy_reduction_kernel": SUM, "cupy": lambda x: x.sum()},
    "cubes": {"cupy_reduction_kernel": CUBES, "cupy_fuse": FUSED_CUBES, "cupy": lambda x: (x * x * x).sum()},
    "five": {
        "cupy_reduction_kernel": lambda x: (SUM(x), SQUARES(x), LOW(x), HIGH(x), POSITIVE(x)),
        "cupy_fuse": lambda x: (x.sum(), FUSED_SQUARES(x), x.min(), x.max(), FUSED_POSITIVE(x)),
        "cupy": lambda x: (x.sum(), (x * x).sum(), x.min(), x.max(), (x > 0).sum()),
    },
    "zscore": {
        "cupy_fuse": lambda x: FUSED_SCALE(x, x.mean(), x.std()),
        "cupy": lambda x: (x - x.mean()) / x.std(),
    },
}


class Inputs:
    def __init__(self, x):
        cupy.get_default_memory_pool().free_all_blocks()
        self._x = cupy.asarray(x)

    def contenders(self, workload):
        x = self._x

        def make(function):
            if workload == "zscore":
                def call():
                    result = function(x)
                    cupy.cuda.Device().synchronize()
                    return result
                return Contender(call, lambda result: sample(result).get())
            if workload == "five":
                return Contender(lambda: [float(value) for value in function(x)], list)
            return Contender(lambda: float(function(x)), lambda value: [value])

        return {name: lambda function=function: make(function) for name, function in FUNCTIONS[workload].items()}

    def graph_times(self, workload, problem, leave_out):
        return {}

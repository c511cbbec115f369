"""The contenders' names and colours, the same in every chart.

All variants of gridfold have one colour; no two other contenders share a colour. Every colour has a contrast of at least
3 : 1 to white. Libraries are hues, their variants shades, so that colour-blind readers can distinguish them.
"""
import typing

from results import ResultsError


class Look(typing.NamedTuple):
    name: str
    colour: str


GRIDFOLD = "#0072B2"
LOOKS = {
    "gridfold": Look("gridfold", GRIDFOLD),
    "gridfold_prepared": Look("gridfold, Prepared::run", GRIDFOLD),
    "gridfold_rebound": Look("gridfold, Prepared::rebind and run", GRIDFOLD),
    "gridfold_run": Look("gridfold, Executable::run", GRIDFOLD),
    "gridfold_sum": Look("gridfold, one sum", GRIDFOLD),
    "gridfold_aligned": Look("gridfold, aligned arrays", GRIDFOLD),
    "gridfold_one_by_one": Look("gridfold, one call per column", GRIDFOLD),
    "gridfold_unfused": Look("gridfold, not fused", "#3E96CC"),
    "cub": Look("CUB", "#D55E00"),
    "cub_struct": Look("CUB, one call over a struct", "#7F3800"),
    "cub_and_kernel": Look("CUB and a kernel", "#C07A40"),
    "thrust": Look("Thrust", "#A8480F"),
    "ceiling": Look("only reading", "#555555"),
    "copy_ceiling": Look("only copying", "#222222"),
    "torch_eager": Look("PyTorch eager", "#C774AE"),
    "torch_compile": Look("torch.compile", "#A3468C"),
    "torch_compile_graph": Look("torch.compile, CUDA Graph", "#5E2750"),
    "jax": Look("JAX, jit", "#96780A"),
    "cupy": Look("CuPy", "#1F9E78"),
    "cupy_fuse": Look("CuPy, fuse", "#00744F"),
    "cupy_reduction_kernel": Look("CuPy, ReductionKernel", "#00442F"),
    "omp_fused": Look("OpenMP, fused by hand", "#8E1B3A"),
    "omp_simd": Look("OpenMP, one loop per result", "#D1495B"),
    "eigen": Look("Eigen, one thread", "#6B7A1F"),
    "loop": Look("plain loop, one thread", "#888888"),
    "numpy": Look("NumPy", "#4B73C9"),
    "libmvec": Look("libmvec, -ffast-math", "#B5532A"),
    "sleef": Look("SLEEF, 1.0 ulp", "#3F7F4A"),
}


def look(contender):
    if contender not in LOOKS:
        raise ResultsError(f"{contender} has no name and colour: add it to LOOKS in bench/report/contenders.py")
    return LOOKS[contender]


def ordered(contenders):
    """The contenders in the order of LOOKS."""
    return sorted(contenders, key=lambda contender: list(LOOKS.values()).index(look(contender)))

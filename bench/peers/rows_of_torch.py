"""PyTorch's softmax, layer norm, with weights and without, and RMS norm of rows, eager and compiled, as entries of Google Benchmark's JSON.

usage: rows_of_torch.py OUT [SHAPES]      SHAPES: 262144x1024,… (default: those of bench/chains, 2^28 elements each)
"""
import json
import sys

import torch
import torch.nn.functional as F

ROUNDS = 9
DEFAULT = ("4194304x64,1048576x256,262144x1024,131072x2048,65536x4096,32768x8192,16384x16384,8192x32768,4096x65536,"
           "1024x262144,2097152x127,2080768x129,5341x50257,256x1048576")

CHAINS = {
    "softmax": lambda x, w: torch.softmax(x, dim=-1),
    "layer_norm": lambda x, w: F.layer_norm(x, x.shape[-1:], eps=1e-5),
    "rms_norm": lambda x, w: F.rms_norm(x, x.shape[-1:], eps=1e-5),
    "weighted_layer_norm": lambda x, w: F.layer_norm(x, x.shape[-1:], weight=w, bias=w, eps=1e-5),
}


def times(function, x, w):
    """Microseconds of each of ROUNDS calls, after a warm-up."""
    for _ in range(3):
        function(x, w)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    measured = []
    for _ in range(ROUNDS):
        torch.cuda._sleep(200_000)  # the call is submitted meanwhile
        start.record()
        function(x, w)
        stop.record()
        stop.synchronize()
        measured.append(1e3 * start.elapsed_time(stop))
    return measured


def problem(chain, x, w, y):
    """What is wrong with the first and the last row, or None."""
    for row in (0, -1):
        exact = CHAINS[chain](x[row:][:1].double(), w.double())
        if not torch.allclose(y[row:][:1].double(), exact, rtol=2e-2 if x.dtype == torch.bfloat16 else 1e-4,
                              atol=6e-2 if x.dtype == torch.bfloat16 and chain == "weighted_layer_norm" else 1e-5):
            return f"row {row} differs from f64"
    return None


def main(out, shapes):
    entries = []
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for shape in shapes.split(","):
            rows, length = map(int, shape.split("x"))
            x = torch.randint(-4, 6, (rows, length), device="cuda").to(dtype)
            w = x[0].clone()
            torch._dynamo.reset()  # each shape is compiled for itself
            for chain, function in CHAINS.items():
                for contender, call in (("torch_eager", function),
                                        ("torch_compile", torch.compile(function, dynamic=False))):
                    entry = {"name": f"{chain}_of_{shape}/{name}/bytes:{x.nbytes}/graph/{contender}",
                             "run_type": "iteration", "time_unit": "us", "bytes": 2 * x.nbytes, "elements": x.numel()}
                    try:
                        wrong = problem(chain, x, w, call(x, w))
                        measured = times(call, x, w)
                    except Exception as error:  # whatever PyTorch raises: the others go on
                        wrong, measured = str(error).splitlines()[0], []
                    if wrong:
                        print(f"{entry['name']}: {wrong}", file=sys.stderr)
                        continue
                    for i, time in enumerate(measured):
                        entries.append({**entry, "repetition_index": i, "repetitions": ROUNDS, "iterations": 1,
                                        "real_time": time, "cpu_time": time})
            with open(out, "w", encoding="utf-8") as file:
                json.dump({"context": {"torch": torch.__version__}, "benchmarks": entries}, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else DEFAULT)

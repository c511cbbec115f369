"""PyTorch: eager, torch.compile, and torch.compile inside a CUDA Graph."""
import torch

from contender import Contender
from workloads import sample

ROTATED_BYTES = 1 << 30
MOST_COPIES = 64
L2_BYTES_READ = 1 << 28
WAITED_CYCLES = 200_000  # about 100 us: the host submits a graph in less


def versions():
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    return {"torch": torch.__version__}


def five(x):
    low, high = torch.aminmax(x)
    # One array, so that one copy brings all to the host; f64, so that the count is exact.
    return torch.stack([v.double() for v in (x.sum(), (x * x).sum(), low, high, (x > 0).sum())])


FUNCTIONS = {
    "sum": lambda x: x.sum(),
    "cubes": lambda x: (x * x * x).sum(),
    "five": five,
    "zscore": lambda x: (x - x.mean()) / x.std(correction=0),
}


def captured(function, arguments):
    """A CUDA Graph of one call an argument, and the calls' results."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function(arguments[0])
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = [function(x) for x in arguments]
    return graph, results


class Inputs:
    def __init__(self, x):
        torch.cuda.empty_cache()
        torch._dynamo.reset()  # each size is compiled for itself, with all its extents constant
        self._compiled = {name: torch.compile(function, dynamic=False) for name, function in FUNCTIONS.items()}
        copies = max(1, min(MOST_COPIES, ROTATED_BYTES // x.nbytes))
        self._copies = torch.from_numpy(x).cuda().repeat(copies, 1)
        self._other = torch.zeros(L2_BYTES_READ // 4, device="cuda")
        self._rounds = 9 if x.nbytes >= 1 << 28 else 15

    def contenders(self, workload):
        x = self._copies[0]

        def until_known(function):
            if workload == "zscore":
                def call():
                    result = function()
                    torch.cuda.synchronize()
                    return result
                return Contender(call, lambda result: sample(result).cpu().numpy())
            return Contender(lambda: function().tolist(), lambda r: r if isinstance(r, list) else [r])

        def eager():
            return until_known(lambda: FUNCTIONS[workload](x))

        def compile_():
            return until_known(lambda: self._compiled[workload](x))

        def compile_graph():
            graph, results = captured(self._compiled[workload], [x])

            def replay():
                graph.replay()
                return results[0]
            return until_known(replay)

        return {"torch_eager": eager, "torch_compile": compile_, "torch_compile_graph": compile_graph}

    def graph_times(self, workload, problem, leave_out):
        """Graphs of a call on each copy, in turn, each behind other data that fills the L2 and a kernel that waits."""
        graphs = {}
        functions = {"torch_eager": FUNCTIONS[workload], "torch_compile_graph": self._compiled[workload]}
        for name, function in functions.items():
            try:
                graph, results = captured(function, list(self._copies))
                graph.replay()
                torch.cuda.synchronize()
                values = [(sample(r) if workload == "zscore" else torch.atleast_1d(r)).tolist() for r in results]
                wrong = next(filter(None, map(problem, values)), None)
            except Exception as error:  # whatever PyTorch raises: the others go on
                wrong = error
            if wrong is not None:
                leave_out(name, wrong, "graph")
            else:
                graphs[name] = graph, results  # the results live in the graph's memory
        times = {name: [] for name in graphs}
        names = list(graphs)
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for turn in range(self._rounds * len(names)):
            name = names[(turn + turn // len(names)) % len(names)]
            self._other.sum()
            torch.cuda._sleep(WAITED_CYCLES)
            start.record()
            graphs[name][0].replay()
            stop.record()
            stop.synchronize()
            times[name].append(1e3 * start.elapsed_time(stop) / len(self._copies))
        return times

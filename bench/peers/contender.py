"""A library's function for a workload."""
import typing


class Contender(typing.NamedTuple):
    """call() returns once the host knows the result; values(result) is what is compared of it, numbers in a row."""
    call: typing.Callable
    values: typing.Callable

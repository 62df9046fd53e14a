"""Bindings on load generators: what their clients can generate, and how to align their builds. No models."""

from typing import TypedDict

from runs.queue.messages import MAKE_BINDINGS, PLACE_ON_GENERATORS, PUT_GO_YCSB, UNPACK_DISTRIBUTION


class Capacity(TypedDict, total=False):
    """What clients with one build of a binding can generate on one load generator.

    Without a database: `client_ops_s` by one client, `ops_s` by `clients` of them together, on `cores` cores.
    In runs: `core_ops_s` per second of the clients' CPU time, the highest of all runs so far.
    """

    digest: str  # of the binding
    client_ops_s: float
    ops_s: float
    clients: int
    cores: int
    measured_at: str  # ISO 8601
    core_ops_s: float
    run: str  # id of the run with `core_ops_s`


def how_to_align(binding: str) -> str:
    """The remedy where load generators lack a binding or hold different builds of it."""
    if "/" in binding:
        name = binding.partition("/")[0]
        action = UNPACK_DISTRIBUTION
        if name.startswith("go-ycsb"):
            action = PUT_GO_YCSB
        return PLACE_ON_GENERATORS.format(action=action, name=name)
    return MAKE_BINDINGS.format(binding=binding)

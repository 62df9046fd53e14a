"""What the clients of a run with an open load counted of its arrivals."""

from collections.abc import Iterable
from dataclasses import replace

from runs.models import ClientRun
from runs.results import artifacts
from runs.results.recording.run_context import read_clock_steps
from runs.ycsb.arrivals import ClientArrivals, merge_arrivals, parse_arrivals
from runs.ycsb.merged import MergedRun

KIND = "arrivals"


def read_client_arrivals(clients: Iterable[ClientRun]) -> list[ClientArrivals]:
    """The arrivals of each client that counted them, on the reference clock; `clients` have their artifacts."""
    read = []
    for client in clients:
        for artifact in client.artifacts.all():
            if artifact.kind == KIND:
                text = artifacts.open_artifact(artifact).decode("ascii", errors="replace")
                stepped_s, _ = read_clock_steps(client)
                read.append(parse_arrivals(text, client.number, (client.clock_offset_s or 0.0) - stepped_s))
    return read


def add_arrivals(merged: MergedRun, clients: Iterable[ClientRun]) -> MergedRun:
    """The merged run with its arrivals in its window; unchanged where no client counted any."""
    counted = read_client_arrivals(clients)
    if not counted:
        return merged
    response = {part.operation: part.histogram for part in merged.operations if part.kind == "response"}
    window = merged.window
    return replace(merged, arrivals=merge_arrivals(counted, window.from_s, window.to_s, merged.lags, response))

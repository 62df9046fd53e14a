"""Every fault by its name: importing a family registers its faults."""

from benchmarks.faults import artifact_store, kills, network, servers  # noqa: F401
from benchmarks.faults.fault import FAULTS

__all__ = ["FAULTS"]

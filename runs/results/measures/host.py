"""What machines and servers did second by second while a run was measured, as `workers.probe.host_sampler`,
`workers.probe.node_probe` and `workers.probe.server_counters` write it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

KIND: Final = "host"  # of the artifact with the samples of one machine
COUNTERS_KIND: Final = "counters"  # of the artifact with the counters of the servers
MAX_DISK_SHARE: Final = 0.95  # of a file system that holds a data folder or a work folder: beyond it a run ends
FOREIGN: Final = ("other_cores", "steal_cores")
OWN: Final = ("servers_cores", "clients_cores", "benchsite_cores", "kernel_cores")
_REQUIRED: Final = frozenset({"at_s", "interval_s"})

Columns = Mapping[str, npt.NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Samples:
    """Rows by column; NaN is what was not known. `at_s` is the end of a row, in seconds since 1970."""

    columns: Columns

    def __len__(self) -> int:
        return int(self.columns["at_s"].size)

    def within(self, begin_s: float, end_s: float) -> Self:
        """The rows whose middle lies in [begin_s, end_s), in seconds since 1970."""
        middle = self.columns["at_s"] - self.columns["interval_s"] / 2
        inside = (middle >= begin_s) & (middle < end_s)
        return replace(self, columns={name: values[inside] for name, values in self.columns.items()})

    def mean(self, *names: str) -> float:
        """The mean of the sum of these columns over time, without rows in which it is not known; NaN without a row."""
        total = np.sum([self.columns[name] for name in names], axis=0)
        finite = np.isfinite(total)
        weights = self.columns["interval_s"][finite]
        if finite.any():
            return float(np.average(total[finite], weights=weights))
        return float("nan")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HostSamples(Samples):
    """One machine. CPU is in cores, shares are fractions."""

    machine: str
    owners: tuple[str, ...] = ()  # columns of those that are known to have run there: servers, clients
    node: int | None = None  # the position of its first node in the cluster, from 1; None: it runs no servers
    server_cpus: tuple[int, ...] = ()  # the CPUs that its servers may use; empty: all
    nic_bits_per_s: float | None = None

    @property
    def cores(self) -> int:
        return sum(name.startswith("core") and name.endswith("_busy") for name in self.columns)

    @property
    def is_attributed(self) -> bool:
        """Whether CPU time is told apart by whose processes used it."""
        return set(OWN + FOREIGN) <= set(self.columns)


def read_columns(text: str) -> Columns | None:
    """The rows of one CSV file; None where it holds no row or is none of the samplers'."""
    header, *lines = text.splitlines() or [""]
    names = header.split(",")
    try:
        values = np.array([list(map(float, line.split(","))) for line in lines])
    except ValueError:
        return None
    if values.ndim != 2 or values.shape[1] != len(names) or not set(names) >= _REQUIRED:
        return None
    return dict(zip(names, values.T, strict=True))

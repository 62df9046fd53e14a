"""What a host did second by second while a run was measured, as `workers.host_sampler` writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

KIND: Final = "host"  # of the artifact
MAX_DISK_SHARE: Final = 0.95  # of a file system that holds a data folder or a work folder: beyond it a run ends
FOREIGN: Final = ("other_cores", "steal_cores")
OWN: Final = ("servers_cores", "clients_cores", "benchsite_cores", "kernel_cores")
_REQUIRED: Final = frozenset({"at_s", "interval_s", *OWN, *FOREIGN})


@dataclass(frozen=True, slots=True, eq=False)
class HostSamples:
    """Rows of one host, by column. CPU is in cores, shares are fractions; NaN is what the kernel does not say."""

    machine: str
    cores: int
    owners: tuple[str, ...]  # columns of those that are known to have run there: servers, clients
    columns: Mapping[str, npt.NDArray[np.float64]]

    def __len__(self) -> int:
        return int(self.columns["at_s"].size)

    def within(self, begin_s: float, end_s: float) -> "HostSamples":
        """The rows whose middle lies in [begin_s, end_s), in seconds since 1970."""
        middle = self.columns["at_s"] - self.columns["interval_s"] / 2
        inside = (middle >= begin_s) & (middle < end_s)
        columns = {name: values[inside] for name, values in self.columns.items()}
        return HostSamples(self.machine, self.cores, self.owners, columns)

    def mean(self, *names: str) -> float:
        """The mean of the sum of these columns over time; needs a row."""
        total = np.sum([self.columns[name] for name in names], axis=0)
        return float(np.average(total, weights=self.columns["interval_s"]))


def parse_host_samples(text: str, machine: str, owners: tuple[str, ...]) -> HostSamples | None:
    """The samples of one file; None where it holds no row or is none of the sampler's."""
    header, *lines = text.splitlines() or [""]
    names = header.split(",")
    try:
        values = np.array([[float(value) for value in line.split(",")] for line in lines])
    except ValueError:
        return None
    if values.ndim != 2 or values.shape[1] != len(names) or not set(names) >= _REQUIRED:
        return None
    cores = sum(name.startswith("core") and name.endswith("_busy") for name in names)
    return HostSamples(machine, cores, owners, dict(zip(names, values.T, strict=True)))

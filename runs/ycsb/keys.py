"""The keys that YCSB's CoreWorkload gives to records, generated again from a range of record numbers. Pure.

YCSB 0.17.0, `CoreWorkload.buildKeyName`: "user", then the record's number or its hash, padded with zeros on the left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from runs.ycsb.properties import WORKLOAD_PROPERTIES

PREFIX = "user"
_FNV_OFFSET_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(1099511628211)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The records numbered from `first` up to, but without, `end`. `zeropadding` is the least number of digits."""

    first: int
    end: int
    hashed: bool
    zeropadding: int

    def batches(self, size: int) -> Iterator[list[str]]:
        """The keys in the order of their numbers, at most `size` at a time."""
        for first in range(self.first, self.end, size):
            yield self._keys(np.arange(first, min(first + size, self.end), dtype=np.uint64))

    def _keys(self, numbers: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> list[str]:
        values = hash_numbers(numbers) if self.hashed else numbers.astype(np.int64)
        if self.zeropadding <= 1:
            return [f"{PREFIX}{value}" for value in values.tolist()]
        return [f"{PREFIX}{str(value).rjust(self.zeropadding, '0')}" for value in values.tolist()]


def loaded_keys(properties: Mapping[str, str]) -> KeyRange:
    """The keys that a load with these properties writes: of a checked workload, all clients together."""
    values = {name: properties.get(name, WORKLOAD_PROPERTIES[name].default or "") for name in _KEY_PROPERTIES}
    return KeyRange(
        first=0,
        end=int(values["recordcount"]),
        hashed=values["insertorder"] != "ordered",
        zeropadding=int(values["zeropadding"]),
    )


_KEY_PROPERTIES = ("recordcount", "insertorder", "zeropadding")


def hash_numbers(
    numbers: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """`site.ycsb.Utils.hash`: 64-bit FNV over the eight bytes, the lowest first, then the absolute value."""
    hashes = np.full(numbers.shape, _FNV_OFFSET_BASIS, dtype=np.uint64)
    for shift in range(0, 64, 8):
        hashes = (hashes ^ ((numbers >> np.uint64(shift)) & np.uint64(0xFF))) * _FNV_PRIME
    return np.abs(hashes.view(np.int64))

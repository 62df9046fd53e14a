"""How much a file that is read may ask for, and what it has cost so far."""

from dataclasses import dataclass

from runs.ycsb.errors import LimitExceeded

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a file may ask for: a stranger's file costs at most this much, whatever it claims of itself.

    The defaults let the output of a whole day of several clients through, and no bomb.

    A plain file is read to its end whatever its size, because reading it needs no more memory than a short one:
    whoever takes it in limits its bytes.
    """

    # Bytes that come out of all layers of packing for each byte of the file, once `unchecked_bytes` have come out.
    # Outputs of YCSB pack to a fifth or a tenth; gzip's best is a thousandth, zstd's far less.
    ratio: int = 100
    unchecked_bytes: int = MIB
    expanded_bytes: int = 32 * GIB  # that come out of all layers of packing together
    members: int = 10_000  # files in an archive and in the archives in it
    layers: int = 4  # of packing: an archive, compressed, in an archive, compressed
    # What is longer is passed on cut. The longest line that YCSB prints is a histogram of about 0.4 MiB; an exporter's
    # JSON may have been put on a single line.
    longest_line: int = 8 * MIB


class Meter:
    """What one file has cost so far: the bytes read of it, and those that came out of all layers of packing."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.read = 0
        self.unpacked = 0
        self.members = 0

    def unpack(self, size: int) -> None:
        self.unpacked += size
        allowed = self.limits.unchecked_bytes + self.limits.ratio * self.read
        if self.unpacked > min(allowed, self.limits.expanded_bytes):
            raise LimitExceeded(
                f"The file is packed too tightly to be an output of YCSB: {self.read:,} bytes of it became more than "
                f"{self.unpacked - size:,}. Unpack it yourself if it is one."
            )

    def enter(self) -> None:
        """One more member of an archive."""
        self.members += 1
        if self.members > self.limits.members:
            raise LimitExceeded(
                f"The archive has more than {self.limits.members:,} members. Pack only the outputs of the clients."
            )

"""How much a file that is read may ask for, and what it has cost so far.

A stranger's file costs at most this much, whatever it claims of itself: the output of a whole day of several clients
goes through, and no bomb. A plain file is read to its end whatever its size, because reading it needs no more memory
than a short one: whoever takes it in limits its bytes.
"""

from runs.ycsb.errors import LimitExceeded

MIB = 1024 * 1024
GIB = 1024 * MIB

# Bytes that come out of all layers of packing for each byte of the file, once MAX_UNCHECKED_BYTES have come out.
# Outputs of YCSB pack to a fifth or a tenth; gzip's best is a thousandth, zstd's far less.
MAX_RATIO = 100
MAX_UNCHECKED_BYTES = MIB
MAX_EXPANDED_BYTES = 32 * GIB  # that come out of all layers of packing together
MAX_MEMBERS = 10_000  # files in an archive and in the archives in it
MAX_LAYERS = 4  # of packing: an archive, compressed, in an archive, compressed
# What is longer is passed on cut. The longest line that YCSB prints is a histogram of about 0.4 MiB; an exporter's JSON
# may have been put on a single line.
MAX_LINE_LENGTH = 8 * MIB


class Meter:
    """What one file has cost so far: the bytes read of it, and those that came out of all layers of packing."""

    def __init__(self) -> None:
        self.read = 0
        self.unpacked = 0
        self.members = 0

    def unpack(self, size: int) -> None:
        self.unpacked += size
        if self.unpacked > min(MAX_UNCHECKED_BYTES + MAX_RATIO * self.read, MAX_EXPANDED_BYTES):
            raise LimitExceeded(
                f"The file is packed too tightly to be an output of YCSB: {self.read:,} bytes of it became more than "
                f"{self.unpacked - size:,}. Unpack it yourself if it is one."
            )

    def enter(self) -> None:
        """One more member of an archive."""
        self.members += 1
        if self.members > MAX_MEMBERS:
            raise LimitExceeded(
                f"The archive has more than {MAX_MEMBERS:,} members. Pack only the outputs of the clients."
            )

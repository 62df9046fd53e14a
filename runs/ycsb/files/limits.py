"""How much a file may ask for. A stranger's file costs at most this much, whatever it claims of itself."""

from dataclasses import dataclass

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults let the output of a whole day of several clients through, and no bomb.

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

"""The YCSB language: what goes into a client and what comes out of it. Pure, but for numpy: no Django, no files."""

from typing import Final

# Counts up when a reader gives another result for the same bytes; every stored number carries it.
READER_VERSION: Final = 4
# Counts up when the merge or a check gives another result for the same reading.
ALGORITHM_VERSION: Final = 11

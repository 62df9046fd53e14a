"""The day by which `make test` chooses its share of tests that are too many for each day."""

import datetime as dt
import os
from typing import Final

TEST_DAY: Final = "BENCHSITE_TEST_DAY"


def set_test_day() -> str:
    """Today's number, for this process and its workers, unless the environment states one; it is the answer."""
    return os.environ.setdefault(TEST_DAY, str(dt.datetime.now(dt.UTC).toordinal()))

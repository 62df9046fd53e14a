"""Skips tests that need something which this machine lacks, with the way to get it."""

import pytest

from benchsite.core.prerequisites import NEEDS, is_missing


def need(*slugs: str) -> None:
    """Skip the test, or what a fixture serves, unless this machine has all of these needs."""
    for slug in slugs:
        if is_missing(slug):
            pytest.skip(f"needs {NEEDS[slug].name}: {NEEDS[slug].how}")

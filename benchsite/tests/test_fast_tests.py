"""`make test-fast` covers every package: each keeps modules that are not slow."""

import re

import pytest
from django.conf import settings

from conftest import WHOLLY

ROOMS = {
    "readers": "runs/ycsb/readers/tests/test_*.py",
    "logs and histograms": "runs/ycsb/tests/test_*.py",
    "measures": "runs/results/measures/tests/test_*.py",
    "validity": "runs/checks/tests/test_*.py",
    "planning": "runs/tests/test_plan*.py",
    "life cycle": "runs/tests/test_transitions.py",
    "catalog": "runs/tests/test_catalog_*.py",
    "API": "benchsite/tests/test_api_of_*.py",
    "analysis": "reports/tests/test_*.py",
    "comparisons in the database": "reports/tests/test_curves_of_rows.py",
    "frozen reports": "reports/tests/test_*_reports.py",
    "teams": "benchsite/accounts/tests/test_*.py",
    "workers": "workers/tests/test_*.py",
}


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_has_fast_tests(room):
    texts = [path.read_text() for path in sorted(settings.BASE_DIR.glob(ROOMS[room]))]
    fast = [text for text in texts if not re.search(WHOLLY.format(mark="(slow|long)"), text, re.M)]
    assert sum(len(re.findall(r"^(?<!mark\.slow\n)def test_", text, re.M)) for text in fast) >= 3


def test_the_fast_command_leaves_out_slow_and_long():
    (line,) = re.findall(r"^test-fast:.*\n\t(.*)$", (settings.BASE_DIR / "Makefile").read_text(), re.M)
    assert '-m "not slow and not long" -n 2' in line

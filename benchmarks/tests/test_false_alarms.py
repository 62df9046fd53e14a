"""`manage.py false_alarms` prints one table for one seed, without a database."""

from io import StringIO

import pytest
from django.core.management import call_command

from benchmarks.simulations.checks import CASES


@pytest.mark.slow
def test_it_prints_one_table_for_one_seed():
    tables = []
    for seed in ("1", "1", "2"):
        out = StringIO()
        call_command("false_alarms", "--runs", "3", "--seed", seed, stdout=out)
        tables.append(out.getvalue())
    assert tables[0] == tables[1] and tables[0].count("\n") == len(CASES) + 2
    assert "V11" in tables[2]

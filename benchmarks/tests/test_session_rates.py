"""Regressions of commits where CI jobs differ: at most 5 % wrong over all tests, losses of 10 % detected; the docs."""

import pytest
from django.conf import settings

from benchmarks.simulations.sessions import CASES, HEADER, Case, rates

DOCS = settings.BASE_DIR / "docs" / "evidence" / "ci.md"


def lines_of_the_table():
    lines = DOCS.read_text().splitlines()
    head = lines.index(HEADER.splitlines()[0])
    return lines[head : head + 2 + len(CASES)]


@pytest.mark.slow
def test_short_history_is_seldom_wrong():
    """Judged by another test's throughput, p99 gave a false regression in 13.5 % of such commits."""
    assert rates(Case(10, 2, 0.05, known=12), 60).wrong <= 4 / 60


@pytest.mark.slow
@pytest.mark.parametrize("between", [0.01, 0.02, 0.05])
def test_a_commit_is_seldom_wrong_and_a_loss_is_found(between):
    """Of 60 commits with ten tests; at most 3 are expected to be wrong at the stated rate, so 7 is far beyond it."""
    commits = rates(Case(10, 10, between), 60)
    assert commits.wrong <= 6 / 60
    assert commits.detected >= 0.8 or between > 0.02


def test_the_table_keeps_what_is_stated():
    """5 % per commit over all tests, and 80 % of losses of 10 % where jobs vary by 2 %."""
    head, rule, *rows = lines_of_the_table()
    assert f"{head}\n{rule}" == HEADER
    for line, case in zip(rows, CASES, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert (cells[0].split(",")[0], cells[1].split(",")[0]) == (str(case.tests), str(case.history)), line
        wrong, improved, _, detected, passed = (float(cell.rstrip("\N{NARROW NO-BREAK SPACE} %")) for cell in cells[3:])
        assert wrong <= 5.0 and improved <= 5.0 and passed <= 5.0, line
        # Ten tests on twenty jobs, as the recipe has them; more tests or fewer jobs share the error or know less.
        assert detected >= 80.0 or case.between > 0.02 or case.tests > 10 or case.history < 10, line

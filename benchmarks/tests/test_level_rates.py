"""A seeded share of the simulation of losses that last, and that the docs quote the command."""

import pytest
from django.conf import settings

from benchmarks.simulations.levels import CASES, HEADER, WEEK_CASES, WEEK_HEADER, Case, rates, week_rates

DOCS = settings.BASE_DIR / "docs" / "evidence" / "ci.md"
UNIT = "\N{NARROW NO-BREAK SPACE} %"


@pytest.mark.parametrize("sd", [0.01, 0.02, 0.03])
def test_a_loss_of_ten_percent_ends_red_and_stays_red(sd):
    measured = rates(Case("20 before", sd), 60)
    assert measured.third >= 0.9, "at least 95 % of 400"
    assert measured.lasting >= 0.97 and measured.wrong <= 0.01


@pytest.mark.parametrize("case", [
    Case("alike", 0.03, correlation=0.5), Case("alike", 0.03, correlation=0.8), Case("bad", 0.03, bad=0.15),
    Case("kinds", 0.02, kinds=0.08),
], ids=lambda case: case.jobs)  # fmt: skip
def test_commits_are_seldom_red_without_a_loss(case):
    assert rates(case, 60).wrong <= 0.08, "at most 5 % of 400"


@pytest.mark.parametrize("jobs", [7, 14])
def test_weeks_are_seldom_said_to_differ(jobs):
    """All of their jobs resemble the one before."""
    wrong, improved, reported = week_rates(jobs, Case("weeks", 0.03, correlation=0.5), 300)
    assert wrong + improved <= 0.05 and reported >= 0.3
    assert week_rates(jobs, Case("weeks", 0.01), 100) == (0.0, 0.0, 1.0)


def test_the_table_keeps_what_is_stated():
    lines = DOCS.read_text().splitlines()
    head = lines.index(HEADER.splitlines()[0])
    for line, case in zip(lines[head + 2 :], CASES, strict=False):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[0] == case.jobs, line
        third, wrong = (float(cells[column].rstrip(UNIT)) for column in (4, 7))
        is_usual = case.jobs.startswith("20 before") and case.loss >= 0.10 and case.sd <= 0.03
        assert third >= 95 or not is_usual, line
        assert wrong <= 5.1 or case.sd > 0.03 or case.kinds, line
    head = lines.index(WEEK_HEADER.splitlines()[0])
    for line, (jobs, case) in zip(lines[head + 2 :], WEEK_CASES, strict=False):
        cells = [cell.strip().rstrip(UNIT) for cell in line.strip("|").split("|")]
        assert cells[:2] == [str(jobs), str(case.history)], line
        assert float(cells[4]) + float(cells[5]) <= 5 or case.sd > 0.03 or case.correlation > 0.5, line

"""How often changes are reported rightly and wrongly: the table of docs/evidence/change-points.md is the command's."""

from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from benchmarks.simulations.change_points import CASES, HEADER, rate, row

pytestmark = pytest.mark.slow

DOCS = settings.BASE_DIR / "docs" / "evidence" / "change-points.md"


def lines_of_the_table():
    lines = DOCS.read_text().splitlines()
    head = lines.index(HEADER.splitlines()[0])
    return lines[head : head + 2 + len(CASES)]


def collect_numbers(what, points):
    return next(n for n, case in enumerate(CASES) if case.what.startswith(what) and case.points == points)


def test_the_table_has_a_line_for_every_case():
    head, rule, *rows = lines_of_the_table()
    assert f"{head}\n{rule}" == HEADER
    assert [line.split(" | ")[:2] for line in rows] == [[f"| {case.what}", case.points] for case in CASES]


@pytest.mark.parametrize(("what", "points"), [("flat throughput, normal", "20"), ("throughput falls by 10", "30 + 2")])
def test_lines_of_the_table_are_what_the_command_prints(what, points):
    number = collect_numbers(what, points)
    assert row(rate(CASES[number], number)) == lines_of_the_table()[2 + number]


def test_the_rates_are_those_that_analysis_7_foresaw():
    """Of a quarter of the series; three standard deviations of so few on both sides."""
    expected = {("flat throughput, normal", "30"): 0.013, ("throughput falls by 5", "30 + 3"): 0.70}
    for (what, points), share in expected.items():
        number = collect_numbers(what, points)
        found = rate(CASES[number], number, series=250)
        chance = 3 * (share * (1 - share) * (1 / 250 + 1 / 300)) ** 0.5
        assert found.alone == pytest.approx(share, abs=chance)
        assert found.reported <= found.with_magnitude <= found.alone


def test_the_command_prints_one_table_for_one_seed():
    tables = []
    for seed in ("1", "1", "2"):
        out = StringIO()
        call_command("change_point_rates", "--series", "2", "--seed", seed, stdout=out)
        tables.append(out.getvalue())
    assert tables[0] == tables[1] != tables[2]
    assert tables[0].count("\n") == len(CASES) + 2


@pytest.mark.long
def test_the_whole_table_is_what_the_command_prints():
    out = StringIO()
    call_command("change_point_rates", stdout=out)
    assert out.getvalue().splitlines() == lines_of_the_table()

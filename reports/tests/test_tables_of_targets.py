"""The table of ceilings, and its twin in files, of ladders of targets: target, bracket and notes."""

import pytest

from reports.compare.figures.ceilings import COLUMNS, CeilingsFigure
from reports.compare.pages.tables import sustained_table
from reports.tests.curves import curve, operation, point
from reports.tests.test_target_ladders import held, laddered, rejected

pytestmark = pytest.mark.slow

FROM, TO = -9, -5  # the columns of targets
FAILED = [*held(50_000, 75_000), rejected(100_000, 99_000, "V07")]
CONTRADICTED = [*held(25_000), rejected(30_000, 29_990, "V07"), *held(40_000)]
UNKNOWN = [*held(25_000), rejected(30_000, 29_000, "V05")]
# All threads are busy, and the database answers as fast as ever.
STARVED = [
    point(8, 2000.0, target_ops_s=2000, operations=(operation("READ", 1000.0),)),
    point(8, 7900.0, target_ops_s=16_000, operations=(operation("READ", 1000.0),)),
]


def get_row(points):
    return CeilingsFigure([curve(points=points, ladder="target")]).table.rows[0]


def test_the_twin_has_target_bracket_and_notes():
    assert tuple(COLUMNS)[FROM:TO] == (
        "target (ops/s)", "first failed target (ops/s)", "knee at target (ops/s)", "notes",
    )  # fmt: skip
    assert get_row(FAILED)[FROM:TO] == (75_000, 100_000, None, "")
    assert "non-monotone" in get_row(CONTRADICTED)[TO - 1]
    assert get_row(UNKNOWN)[FROM:TO] == (25_000, None, None, "the next target has no counted run")
    assert "lacked threads" in get_row(STARVED)[TO - 1]
    assert CeilingsFigure([curve()]).table.rows[0][FROM:TO] == (None, None, None, "")
    assert len(CeilingsFigure([curve(points=[])]).table.rows[0]) == len(COLUMNS)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (FAILED, "target 75.0k, 100k failed"),
        (CONTRADICTED, "target 40.0k, only lower ones failed"),
        (UNKNOWN, "target 25.0k, 30.0k not known"),
        (STARVED, "target 2.00k, 16.0k lacked threads"),
        (held(25_000), "target 25.0k, none failed"),
    ],
)
def test_the_table_says_target_and_bracket(points, said):
    assert places(curve(points=points, ladder="target")) == [said]


def places(*curves):
    """What the table of a comparison says of where each ceiling is."""
    table = sustained_table(curves, {})
    return [row[table.columns.index("at")] for row in table.rows]


def test_threads_are_called_threads_and_targets_targets():
    [threads, target] = places(curve(), laddered((1000, 1000.0, 100.0)))

    assert threads.endswith("threads") and target.startswith("target 1.00k")

"""Rejected points leave ceilings and knees and stay hollow; counted by a written reason they are back, and marked."""

import pytest

from reports.compare.curves import Standing
from reports.compare.figures.captions import caption
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.latency import LatencyFigure, points_table
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.layout import Frame
from reports.compare.figures.theme import theme_named
from reports.compare.queries import curves
from reports.tests.curves import curve, point
from runs.models import Run
from runs.plans.pages.matrix import GridCell, get_mark
from runs.tests.factories import make_run, make_sweep

WHY = "the client <machine> was small on purpose"
FRAME = Frame(theme_named("light"), False, ())


def with_points(*changes):
    """Four rungs of which the highest is what the changes say."""
    points = [point(2, 1000.0), point(4, 1900.0), point(8, 3300.0), point(16, 9000.0, **dict(changes))]
    return curve(points=points)


@pytest.fixture
def rejected():
    return with_points(("standing", Standing.REJECTED), ("verdict", "reject"), ("rejected", 1))


@pytest.fixture
def counted():
    return with_points(("verdict", "reject"), ("overridden", (WHY,)))


def find_traces(figure, what):
    return [trace for trace in figure["data"] if what in trace.get("name", "")]


def test_a_rejected_point_is_no_ceiling_and_no_knee(rejected):
    assert rejected.ceiling.throughput_ops_s == 3300.0
    assert all(rung.threads != 16 for rung in (rejected.knee,) if rung)


@pytest.mark.parametrize(
    "draw", [lambda c, f: LadderFigure(c).draw(f), lambda c, f: LatencyFigure(c, Choice("READ")).draw(f)]
)
def test_it_stays_visible_hollow_and_named(rejected, draw):
    (hollow,) = find_traces(draw([rejected], FRAME), "not counted")[:1]
    assert hollow["marker"]["symbol"].endswith("-open")
    assert "rejected by the validity checks" in hollow["text"][0]


def test_a_counted_one_is_the_ceiling_again(counted):
    assert counted.ceiling.throughput_ops_s == 9000.0


@pytest.mark.parametrize(
    "draw", [lambda c, f: LadderFigure(c).draw(f), lambda c, f: LatencyFigure(c, Choice("READ")).draw(f)]
)
def test_a_counted_one_is_drawn_apart_with_its_reason(counted, draw):
    figure = draw([counted], FRAME)
    line = next(trace for trace in figure["data"] if trace["mode"] == "lines+markers")
    (cross,) = [trace for trace in find_traces(figure, "rejected, counted") if trace["x"] != [None]]
    assert (cross["x"][0], cross["y"][0]) == (line["x"][-1], line["y"][-1])
    assert "rejected, counted: the client &lt;machine&gt; was small" in line["text"][-1]
    assert find_traces(figure, "rejected, counted with a reason")  # the legend says what the cross means


def test_without_one_nothing_is_marked():
    figure = LadderFigure([curve()]).draw(FRAME)
    assert not find_traces(figure, "rejected")


def test_tables_and_captions_carry_the_reason(counted):
    for table in (points_table([counted]), LadderFigure([counted]).table):
        column = table.columns.index("rejected, counted because")
        assert table.rows[-1][column] == WHY
        assert table.rows[0][column] == ""
    assert "1 run rejected but counted with a written reason" in caption([counted])


@pytest.mark.django_db
def test_a_rejected_repeat_counts_by_its_reason(team):
    sweep = make_sweep(team=team)
    make_run(sweep, throughput=1000.0)
    run = make_run(sweep, throughput=3000.0, repeat=2, verdict="reject")
    (curve,) = curves([sweep])
    assert (curve.points[0].throughput_ops_s.n, curve.points[0].overridden) == (1, ())
    Run.objects.filter(pk=run.pk).update(verdict_override=WHY)
    (curve,) = curves([sweep])
    assert (curve.points[0].throughput_ops_s.n, curve.points[0].overridden) == (2, (WHY,))


@pytest.mark.django_db
def test_a_reason_that_is_left_over_marks_nothing(team):
    sweep = make_sweep(team=team)
    make_run(sweep, verdict="warn", verdict_override=WHY)
    assert curves([sweep])[0].points[0].overridden == ()


@pytest.mark.django_db
def test_a_matrix_follows(team):
    run = make_run(make_sweep(team=team), verdict="reject", verdict_override=WHY)
    assert get_mark(run).word == "rejected, counted"
    cell = GridCell(rung=2, runs=(run,))
    assert (cell.throughput_ops_s, cell.passed_ops_s) == (run.throughput_ops_s, None)


@pytest.mark.django_db
def test_pages_mark_a_ceiling_of_accepted_points(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, verdict="reject", verdict_override=WHY)
    chip = '<span class="chip" title="Has points that were rejected and that a person counts">accepted</span>'
    for address in (f"/compare/?sweep={sweep.pk}", "/sweeps/"):
        assert client_in.get(address, follow=True).content.decode().count(chip) == 1
    Run.objects.update(verdict="warn")
    assert chip not in client_in.get(f"/compare/?sweep={sweep.pk}", follow=True).content.decode()

"""The picture of a history: bounded, escaped, and true to what was decided. Without a database."""

import datetime as dt
import json
import uuid

import numpy as np
import pytest

from reports.compare.curves import Standing
from reports.compare.figures.layout import Frame
from reports.compare.figures.theme import DARK, LIGHT
from reports.models import ChangePoint, HistoryNote
from reports.trends.figures.history import AXES, HistoryFigure, change_words
from reports.trends.histories import (
    THROUGHPUT_METRIC,
    Measured,
    build_history,
    build_points,
    environment_changes,
    metric_named,
    step_sentence,
)

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
P99 = metric_named("READ response p99")


def measured(values, *, commit=lambda n: f"{n:07x}", **fields):
    return [
        Measured(uuid.UUID(int=n + 1), START + dt.timedelta(hours=6 * n), commit(n), "main", None, value, **fields)
        for n, value in enumerate(values)
    ]


def wave(size):
    """A new level every hundred points."""
    random = np.random.default_rng(2)
    levels = np.where(np.arange(size) // 100 % 2, 800.0, 1000.0)
    return (levels * random.normal(1, 0.01, size)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("along", AXES)
@pytest.mark.parametrize("frame", [Frame(LIGHT), Frame(DARK, narrow=True)])
def test_figure_draws_at_most_2000_of_5000_points(along, frame):
    history = build_history(THROUGHPUT_METRIC, build_points(measured(wave(5000))))
    figure = HistoryFigure(history, along=along).draw(frame)
    assert len(history.points) == 5000
    assert max(len(trace["x"]) for trace in figure["data"]) <= 2000
    assert len(figure["layout"]["annotations"]) <= 12  # of 49 changes only the newest are named
    assert len(json.dumps(figure, allow_nan=False)) < 400_000
    figure = HistoryFigure(history)
    assert len(figure.table.rows) == 300
    assert len(HistoryFigure(history, whole=True).table.rows) == 5000


def test_names_notes_and_reasons_are_escaped_and_shortened():
    ugly = "<img src=x onerror=alert(1)>" + "w" * 300
    runs = [
        *measured([1000.0] * 12, commit=lambda n: f"{ugly[:6]}{n}"),
        *measured([900.0], commit=lambda n: "cafe", standing=Standing.EXCLUDED, reason=ugly),
    ]
    note = HistoryNote(at=START + dt.timedelta(days=1), text=ugly)
    environments = [{"kernel": "a"}, {"kernel": ugly}]
    history = build_history(THROUGHPUT_METRIC, build_points(runs), (), environments, notes=[note])
    text = json.dumps(HistoryFigure(history).draw(Frame(LIGHT)), allow_nan=False)
    assert "<img" not in text
    assert "w" * 130 not in text


@pytest.mark.parametrize("values", [[], [None], [float("nan")] * 3, [0.0], [0.0] * 12, [5.0] * 12, [1e-9, 1e12] * 6])
@pytest.mark.parametrize("metric", [THROUGHPUT_METRIC, P99])
def test_any_values_make_a_picture_or_a_sentence(values, metric):
    history = build_history(metric, build_points(measured(values)))
    figure = HistoryFigure(history)
    json.dumps(figure.answer(theme="light", narrow=False), allow_nan=False)
    assert bool(figure.empty) == (not any(value is not None and np.isfinite(value) for value in values))
    assert figure.caption


def test_latency_is_drawn_in_ms_and_its_rise_is_worse():
    values = np.repeat([2000.0, 3000.0], 15) * np.random.default_rng(1).normal(1, 0.01, 30)
    history = build_history(P99, build_points(measured(values.tolist())))
    traces = {trace["name"]: trace for trace in HistoryFigure(history).draw(Frame(LIGHT))["data"]}
    worse = traces["change, worse"]
    assert (worse["x"], worse["marker"]["symbol"]) == ([15], ["triangle-up"])
    assert worse["y"][0] == pytest.approx(3.0, rel=0.05)
    assert worse["marker"]["color"] == LIGHT.series[1]


@pytest.mark.parametrize(("lowest", "title", "mode"), [(810.0, ", not from 0", None), (400.0, "", "tozero")])
def test_axis_begins_at_0_or_says_that_it_does_not(lowest, title, mode):
    history = build_history(THROUGHPUT_METRIC, build_points(measured([1000.0] * 6 + [lowest] * 6)))
    axis = HistoryFigure(history).draw(Frame(LIGHT))["layout"]["yaxis"]
    assert (axis["title"]["text"], axis.get("rangemode")) == (f"throughput (ops/s){title}", mode)


def test_a_decision_stays_when_its_run_is_left_out():
    values = np.repeat([1000.0, 800.0], 15).tolist()
    runs = measured(values)
    at = runs[15].run_id
    runs[15] = Measured(at, runs[15].at, "000000f", "main", None, 800.0, standing=Standing.EXCLUDED)
    history = build_history(THROUGHPUT_METRIC, build_points(runs), [ChangePoint(run_id=at, state="confirmed")])
    (change,) = history.changes
    assert (change.position, change.state, change.confirmed) == (16, "confirmed", True)


def test_caption_counts_points_since_an_accepted_level():
    runs = measured(np.repeat([1000.0, 800.0], [15, 2]).tolist())
    history = build_history(
        THROUGHPUT_METRIC, build_points(runs), [ChangePoint(run_id=runs[15].run_id, state="accepted")]
    )
    caption = dict(HistoryFigure(history).remarks)["Changes"]
    assert caption.startswith(f"2 points since the level accepted at {history.points[15].label}: later changes")
    assert [change_words(entry) for entry in history.changes] == ["worse, accepted"]


def test_a_decision_on_a_run_of_another_branch_is_passed_over():
    decision = ChangePoint(run_id=uuid.uuid4(), state="confirmed")
    history = build_history(THROUGHPUT_METRIC, build_points(measured([1000.0] * 12)), [decision])
    assert history.changes == ()


def test_points_are_ordered_by_first_run_of_each_commit():
    runs = measured([1.0, 2.0, 4.0, 8.0], commit=lambda n: "ab"[n % 2] * 5)
    points = build_points(runs)
    values = [(point.commit, round(point.value, 9), point.n) for point in points]
    assert values == [("aaaaa", 2.0, 2), ("bbbbb", 4.0, 2)]


def test_points_are_days_without_commit_and_matrix():
    points = build_points(measured([1.0, 2.0, 3.0, 4.0, 5.0], commit=lambda n: ""))
    assert [point.n for point in points] == [4, 1]


def test_what_nobody_knows_is_no_change_of_environment():
    changes = environment_changes([None, {"kernel": "6.1"}, {}, {"kernel": "6.1"}, None, {"kernel": "6.2", "os": "x"}])
    assert changes == [(5, ["kernel: 6.1 → 6.2"])]


def test_the_sentence_about_a_newest_point_says_the_side():
    history = build_history(THROUGHPUT_METRIC, build_points(measured([*wave(30), 1500.0])))
    assert "% above its level" in step_sentence(history).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert step_sentence(build_history(THROUGHPUT_METRIC, build_points(measured(wave(30))))) == ""


@pytest.mark.parametrize("text", ["", "READ", "READ service", "READ service p90", "READ both p99", "a b c d", "X" * 70])
def test_a_text_that_means_no_metric_is_none(text):
    assert metric_named(text) is None


@pytest.mark.parametrize("text", ["throughput", "READ service mean", "READ-MODIFY-WRITE response p999"])
def test_a_metric_is_written_as_it_is_read(text):
    assert str(metric_named(text)) == text

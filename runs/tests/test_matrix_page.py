"""The page of a submitted matrix: the grid in every state, progress, failures, loads, exclusions, acts."""

import datetime as dt
import re
from dataclasses import replace

import pytest
from django.utils import timezone

from runs.models import Cluster, Database, Matrix, MatrixEntry, Run
from runs.plans.pages.matrix import matrix_page
from runs.queue.pages.progress import get_progress
from runs.queue.pages.queue import last_of_lanes, queue
from runs.tests.factories import (
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_sweep,
    make_workload,
)
from runs.tests.pages import STATUSES, UGLY, busy_matrix, count_queries, counted, get_text, sign_in_viewer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def url(matrix, what=""):
    return f"/matrices/{matrix.pk}/{what}"


def polled(client, matrix, **query):
    return client.get(url(matrix, "live/"), query, headers={"HX-Request": "true"})


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A")


def get_page(matrix):
    return matrix_page(matrix, queue(last_of_lanes(matrix)).rows)


def test_a_matrix_that_was_not_submitted_leads_to_the_builder(client_in, team):
    matrix = make_matrix(team=team, submitted_at=None)
    page = get_text(client_in.get(url(matrix)))
    assert "has not been submitted" in page
    assert f"/matrices/new/?from={matrix.pk}" in page


@pytest.mark.parametrize("status", STATUSES)
def test_a_cell_shows_its_state_by_shape_word_and_colour(client_in, sweep, status):
    make_run(sweep, status=status, verdict="warn" if status == "succeeded" else "")
    page = get_text(client_in.get(url(sweep.matrix)))
    shown = "warn" if status == "succeeded" else status
    assert f"badge--{shown}" in page
    assert f">{shown}</a>" in page


def test_the_grid_is_sweeps_by_rungs(team):
    matrix, _ = busy_matrix(team, sweeps=3)
    page = get_page(matrix)
    assert page["rungs"] == [2, 4, 8, 16]
    assert [row.name for row in page["rows"]] == ["redis always A 0", "redis always A 1", "redis always A 2"]
    assert [cell.throughput_ops_s for cell in page["rows"][0].cells] == [1000.0, None, None, None]


def test_a_rung_that_only_another_sweep_has_is_said(client_in, sweep, team):
    make_run(sweep, threads=2)
    make_run(make_sweep(team=team, matrix=sweep.matrix), threads=64)
    page = get_text(client_in.get(url(sweep.matrix)))
    assert page.count(">n/a<") == 2


def test_cell_of_repeats_shows_mean_of_those_that_count(sweep):
    for repeat, throughput in enumerate((100.0, 400.0, 200.0), start=1):
        make_run(sweep, repeat=repeat, throughput=throughput)
    make_run(sweep, repeat=4, throughput=9_999.0, excluded_reason="a backup ran")
    (cell,) = get_page(sweep.matrix)["rows"][0].cells
    assert cell.throughput_ops_s == pytest.approx(200.0)
    assert [mark.word for mark in cell.marks] == ["pass", "pass", "pass", "excluded"]
    assert cell.word == "3 of 4 repeats count" and not cell.is_rejected


def test_cell_of_rejected_repeats_is_marked(client_in, sweep):
    for repeat, throughput in enumerate((100.0, 400.0), start=1):
        make_run(sweep, repeat=repeat, throughput=throughput, verdict="reject")
    (cell,) = get_page(sweep.matrix)["rows"][0].cells
    assert (cell.throughput_ops_s, cell.is_rejected, cell.share) == (pytest.approx(200.0), True, 0.0)
    assert cell.word == "0 of 2 repeats count, 2 rejected"
    page = get_text(client_in.get(url(sweep.matrix)))
    assert "matrix__value--rejected" in page
    assert page.count("One mark for each repeat:") == page.count('<span class="badge badge--reject">reject</span>') == 1

    make_run(sweep, repeat=3, throughput=50.0)
    make_run(sweep, repeat=4, throughput=72.0, verdict="reject", verdict_override="the laptop was idle")
    (cell,) = get_page(sweep.matrix)["rows"][0].cells
    assert (cell.throughput_ops_s, cell.is_rejected, cell.word) == (
        pytest.approx(60.0),
        False,
        "2 of 4 repeats count, 2 rejected",
    )


def test_predicts_the_end_from_observed_durations(sweep):
    """Runs planned for 10 s took 30 s, so two more take a minute."""
    began = timezone.now() - dt.timedelta(minutes=5)
    ended = began + dt.timedelta(seconds=30)
    make_run(sweep, expected_s=10, started_at=began, dispatched_at=began, finished_at=ended)
    for threads in (4, 8):
        make_run(sweep, status="queued", threads=threads, expected_s=10)
    left = get_page(sweep.matrix)["progress"].ends_at - timezone.now()
    assert 55 < left.total_seconds() <= 60


def test_page_says_from_when_the_elapsed_time_counts(client_in, sweep):
    """A pause between a cancel and a resume is part of it."""
    ended = timezone.now()
    began = ended - dt.timedelta(minutes=5)
    make_run(sweep, started_at=began, dispatched_at=began, finished_at=ended)
    assert "from the first start to the last end" in get_text(client_in.get(url(sweep.matrix)))
    make_run(sweep, status="queued", threads=4)
    assert "since the first start" in get_text(client_in.get(url(sweep.matrix)))


def test_states_elapsed_time_in_whole_seconds(client_in, sweep):
    began = timezone.now()
    make_run(sweep, started_at=began, dispatched_at=began, finished_at=began + dt.timedelta(seconds=0.44))
    assert get_page(sweep.matrix)["progress"].elapsed_s == 0


def test_cell_counts_the_repeats_that_succeeded(sweep):
    make_run(sweep, repeat=1, throughput=100.0)
    failed = make_run(sweep, repeat=2, status="failed")
    make_run(sweep, repeat=3, status="cancelled")
    make_run(sweep, repeat=4, status="cancelled", rerun_of=failed)
    (cell,) = get_page(sweep.matrix)["rows"][0].cells
    assert cell.word == "1 of 3 repeats counts"


def test_cancelled_repeat_of_a_success_leaves_the_plan_finished(client_in, sweep):
    rejected = make_run(sweep, verdict="reject")
    make_run(sweep, repeat=2, status="cancelled", rerun_of=rejected)
    page = get_page(sweep.matrix)
    assert page["progress"] == replace(page["progress"], succeeded=1, replaced=1, cancelled=0)
    assert page["progress"].status == get_progress([sweep.matrix])[sweep.matrix.pk].status == "succeeded"
    assert (page["missing"], page["rejected"]) == (0, 1)
    assert page["rows"][0].cells[0].word == "0 of 1 repeats count, 1 rejected"

    client_in.post(url(sweep.matrix, "resume/"))
    assert sweep.runs.count() == 2
    client_in.post(url(sweep.matrix, "resume/"), {"rejected": "1"})
    assert sweep.runs.filter(rerun_of=rejected, status="queued").exists()
    assert get_page(sweep.matrix)["rejected"] == 0


def test_the_rung_of_a_target_ladder_is_its_target(team):
    matrix = make_matrix(team=team, ladder="target")
    sweep = make_sweep(team=team, matrix=matrix)
    make_run(sweep, threads=8, target_ops_s=1000)
    make_run(sweep, threads=8, target_ops_s=2000)
    assert get_page(matrix)["rungs"] == [1000, 2000]


def test_loads_stand_apart_from_the_points(client_in, sweep, team):
    make_run(make_sweep(team=team, matrix=sweep.matrix, phase="load", name="redis always load"))
    make_run(sweep)
    page = get_page(sweep.matrix)
    assert [run.name for run in page["loads"]] == ["redis always load 2t r1"]
    assert len(page["rows"]) == 1
    assert "Load phases" in get_text(client_in.get(url(sweep.matrix)))


def test_excluded_cells_stand_with_their_reason_never_as_a_gap(client_in, team):
    database, workload = make_database(team=team), make_workload(team=team)
    matrix = make_matrix(
        team=team,
        entries=[(database, "always"), (database, "off")],
        workloads=[workload],
        rungs=[2, 4],
        exclusions=[
            {"match": {"mode": "always", "rung": 4}, "reason": "too many connections"},
            {"match": {"mode": "off"}, "reason": "measured last week"},
        ],
    )
    make_run(make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode="always"), threads=2)
    page = get_text(client_in.get(url(matrix)))
    assert page.count("not run") == 3
    assert "too many connections" in page
    assert get_page(matrix)["rows"][1].sweep is None
    assert get_page(matrix)["progress"].excluded == 3


def test_a_matrix_of_nothing_but_exclusions_says_so(client_in, team):
    database = make_database(team=team)
    matrix = make_matrix(
        team=team, entries=[(database, "off")], workloads=[make_workload(team=team)], rungs=[2],
        exclusions=[{"match": {}, "reason": "later"}],
    )  # fmt: skip
    assert "later" in get_text(client_in.get(url(matrix)))


def test_failures_are_named_first_until_they_are_run_again(client_in, sweep):
    failed = make_run(sweep, status="failed", reason="timeout", reason_detail="It hung.")
    page = get_text(client_in.get(url(sweep.matrix)))
    assert "1 run failed" in page
    assert "It hung." in page
    make_run(sweep, repeat=2, rerun_of=failed, status="queued")
    assert "1 run failed" not in get_text(client_in.get(url(sweep.matrix)))


def test_progress_counts_and_predicts(team):
    matrix, _ = busy_matrix(team)
    progress = get_page(matrix)["progress"]
    assert (progress.total, progress.succeeded, progress.failed, progress.queued) == (4, 1, 1, 2)
    assert progress.unfinished == 2
    assert progress.ends_at is not None
    left = progress.ends_at - timezone.now()
    assert dt.timedelta(seconds=30) < left <= dt.timedelta(seconds=34)


def test_it_polls_often_only_while_something_is_to_come(client_in, sweep):
    run = make_run(sweep, status="queued")
    often, seldom = 'hx-trigger="every 2s"', 'hx-trigger="every 30s, visibilitychange from:document"'
    assert often in get_text(client_in.get(url(sweep.matrix)))
    assert often in get_text(polled(client_in, sweep.matrix))
    Run.objects.filter(pk=run.pk).update(status="cancelled", reason="cancelled_by_user", finished_at=timezone.now())
    page = get_text(polled(client_in, sweep.matrix, seen="queued"))
    assert often not in page and seldom in page
    assert 'id="matrix-badges"' in page  # told once, because it has changed
    assert 'http-equiv="refresh"' not in get_text(client_in.get(url(sweep.matrix)))


VERSION = re.compile(r"\?version=(\w+)")
CHANGES = {
    "run again": lambda run: make_run(run.sweep, repeat=2, status="queued", rerun_of=run),
    "accepted": lambda run: Run.objects.filter(pk=run.pk).update(verdict_override="the laptop was idle"),
    "excluded": lambda run: Run.objects.filter(pk=run.pk).update(excluded_reason="a backup ran"),
    "judged anew": lambda run: Run.objects.filter(pk=run.pk).update(verdict="pass"),
    "recomputed": lambda run: Run.objects.filter(pk=run.pk).update(throughput_ops_s=999.0),
    "deleted": lambda run: run.delete(),
    "archived": lambda run: Matrix.objects.filter(pk=run.matrix_id).update(archived_at=timezone.now()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_open_page_of_finished_matrix_shows_later_changes(client_in, sweep, change):
    run = make_run(sweep, verdict="reject")
    make_run(sweep, threads=4)
    page = get_text(client_in.get(url(sweep.matrix)))
    (version,) = VERSION.findall(page)
    change(run)
    answer = get_text(polled(client_in, sweep.matrix, version=version))
    for part in ("matrix-badges", "matrix-actions", "matrix-figure"):
        assert f'id="{part}"' in page and f'id="{part}"' in answer
    assert VERSION.findall(answer) != [version]


def test_unchanged_finished_matrix_is_polled_cheaply(client_in, team):
    """One query beside those of the sign-in and of the matrix, however many runs it has."""
    small, large = make_matrix(team=team), make_matrix(team=team)
    for matrix, sweeps in ((small, 1), (large, 4)):
        for _ in range(sweeps):
            sweep = make_sweep(team=team, matrix=matrix)
            for threads in (2, 4, 8):
                make_run(sweep, threads=threads)
        (version,) = VERSION.findall(get_text(client_in.get(url(matrix))))
        with counted() as queries:
            assert polled(client_in, matrix, version=version).status_code == 204
        assert queries() == 5


def test_the_live_address_opened_by_hand_leads_to_the_page(client_in, sweep):
    assert client_in.get(url(sweep.matrix, "live/")).url == url(sweep.matrix)


def test_cancelling_keeps_what_is_done(client_in, team):
    matrix, _ = busy_matrix(team)
    page = get_text(client_in.post(url(matrix, "cancel/"), follow=True))
    assert "2 runs of" in page and "1 of 4 runs succeeded" in page
    assert sorted(matrix.runs.values_list("status", flat=True)) == ["cancelled", "cancelled", "failed", "succeeded"]
    assert "Nothing was left" in get_text(client_in.post(url(matrix, "cancel/"), follow=True))


def test_what_is_missing_can_be_run_and_only_once(client_in, team):
    matrix, _ = busy_matrix(team)
    client_in.post(url(matrix, "cancel/"))
    page = get_text(client_in.get(url(matrix)))
    assert 'title="Measures in this matrix what failed or was cancelled"><span>Resume (3 measured runs left)' in page
    assert 'title="A new matrix that begins with this plan, for you to change">Clone<' in page
    assert 'title="New matrices of this plan, unchanged, on a schedule">Repeat this<' in page
    page = get_text(client_in.post(url(matrix, "resume/"), follow=True))
    assert "Queued: 3 measured runs, and the load phases" in page
    assert "1 of 4 runs succeeded" in page
    assert "3 more attempts failed or were cancelled; each run counts once" in page
    assert matrix.runs.count() == 7
    assert get_progress([matrix])[matrix.pk].counts["total"] == 4
    assert "Nothing is missing" in get_text(client_in.post(url(matrix, "resume/"), follow=True))


@pytest.mark.parametrize("status", ["queued", "running", "succeeded", "cancelled"])
def test_repeated_load_counts_once(client_in, sweep, status):
    """Its data was gone before the matrix was resumed."""
    load = make_run(sweep, phase="load", threads=1)
    make_run(sweep, status="cancelled", needs=load)
    before = get_progress([sweep.matrix])[sweep.matrix.pk].total
    make_run(sweep, phase="load", threads=1, repeat=2, rerun_of=load, status=status)
    progress = get_progress([sweep.matrix])[sweep.matrix.pk]
    assert progress.total == before == 2 and getattr(progress, status) >= 1
    is_shown = "1 load phase is repeated; each counts once" in get_text(client_in.get(url(sweep.matrix)))
    assert progress.reloaded == is_shown == (status != "cancelled")


def test_loads_of_each_repeat_count(sweep):
    """Where every run begins with a data set of its own."""
    load = make_run(sweep, phase="load", threads=1)
    make_run(sweep, needs=load)
    again = make_run(sweep, phase="load", threads=1, repeat=2, rerun_of=load)
    make_run(sweep, repeat=2, needs=again)
    assert get_progress([sweep.matrix])[sweep.matrix.pk].counts["succeeded"] == 4


@pytest.mark.parametrize(("window_s", "is_short"), [(180, False), (10, True)])
def test_purpose_is_too_short_only_where_windows_are(client_in, team, window_s, is_short):
    matrix = make_matrix(team=team, purpose="smoke", min_measure_s=window_s, max_measure_s=300)
    make_run(make_sweep(matrix=matrix))
    page = get_text(client_in.get(url(matrix)))
    assert "not to be" in page and ("are too short for it" in page) == is_short


def test_cancelled_matrix_without_points_offers_to_resume(client_in, sweep):
    make_run(sweep, phase="load", threads=1)
    make_run(sweep, status="cancelled")
    page = get_text(client_in.get(url(sweep.matrix)))
    assert f"/compare/?matrix={sweep.matrix_id}" not in page and "/headline/" not in page
    assert '<button class="button button--primary" title="Measures in this matrix' in " ".join(page.split())
    make_run(sweep, repeat=2)
    assert f'button--primary" href="/compare/?matrix={sweep.matrix_id}' in get_text(client_in.get(url(sweep.matrix)))


def test_report_can_be_begun_where_a_run_counts(client_in, sweep):
    assert "Build a report" not in client_in.get(url(sweep.matrix)).content.decode()
    make_run(sweep, threads=2)
    assert "Build a report" in client_in.get(url(sweep.matrix)).content.decode()
    viewer = sign_in_viewer(sweep.team)
    assert "Build a report" not in viewer.get(url(sweep.matrix)).content.decode()


def test_notes_are_kept(client_in, sweep):
    client_in.post(url(sweep.matrix, "notes/"), {"notes": "quiet host"})
    assert "quiet host" in get_text(client_in.get(url(sweep.matrix)))


def test_ugly_text_stays_text(client_in, team):
    matrix = make_matrix(team=team, name=UGLY, notes=UGLY, tags=["<b>x"])
    sweep = make_sweep(team=team, matrix=matrix, name=UGLY)
    make_run(sweep, name=UGLY, status="failed", reason_detail=UGLY)
    page = get_text(client_in.get(url(matrix)))
    assert "<script>alert" not in page
    assert "<b>x" not in page


def test_a_viewer_reads_and_does_nothing(team, sweep):
    viewer = sign_in_viewer(team)
    make_run(sweep, status="queued")
    assert "Cancel this matrix" not in get_text(viewer.get(url(sweep.matrix)))
    for what in ("cancel/", "resume/", "notes/"):
        assert viewer.post(url(sweep.matrix, what)).status_code == 403


def test_the_number_of_queries_does_not_grow_with_the_runs(client_in, team):
    small, _ = busy_matrix(team, sweeps=1, rungs=1)
    make_run(make_sweep(team=team, matrix=small), threads=99, status="queued")
    few = count_queries(client_in, url(small))
    large, _ = busy_matrix(team, sweeps=5, rungs=4)
    assert count_queries(client_in, url(large)) == few


def test_a_matrix_that_waits_in_vain_says_for_whom(client_in, sweep):
    silent = make_load_generator(name="load-9", last_seen_at=timezone.now() - dt.timedelta(minutes=2))
    make_run(sweep, status="queued", generators=[silent])
    assert "load generator load-9" in get_text(client_in.get(url(sweep.matrix)))


def test_a_rejected_point_is_shown_but_is_no_highest(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, threads=2, throughput=1_000)
    make_run(sweep, threads=4, throughput=9_000, verdict="reject")
    make_run(sweep, threads=8, throughput=8_000, verdict="reject", verdict_override="a shared machine")
    page = client_in.get(f"/matrices/{sweep.matrix_id}/")
    [row] = [row for row in page.context["page"]["rows"] if row.sweep]
    assert (row.highest, row.highest_accepted) == (1_000, 8_000)
    assert "9.00k" in page.content.decode()
    assert "rejected, counted" in page.content.decode()


def test_names_what_checks_tell_of_an_own_server(client_in, sweep, team):
    make_run(sweep)
    entry = MatrixEntry.objects.create(matrix=sweep.matrix, database=sweep.database, mode="off", position=9)
    assert "Own servers" not in get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))
    Cluster.objects.filter(pk=entry.database.cluster_id).update(provisioner="external")
    Database.objects.filter(pk=entry.database.pk).update(version="7.2.4", system="redis")
    page = get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))
    assert "Redis 7.2.4" in page and "mode off: " in page
    # Without a name it is mostly found all the same, and V25 judges: only the runs can tell.
    assert "their findings say whether interference (V25) was assessed" in page and "is not assessed" not in page

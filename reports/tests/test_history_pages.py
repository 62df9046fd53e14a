"""The pages of histories: the list, one history with its figure and files, decisions and notes, bad addresses."""

import csv
import datetime as dt
import io
import json
import random

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import NoticeKind, Role, Webhook
from benchsite.core.formatting import MINUS
from reports.models import ChangePoint, History, HistoryNote
from runs.models import Run
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_run, make_spec, make_sweep, make_team, make_user
from runs.tests.pages import counted, get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
START = dt.datetime(2026, 1, 5, 3, 0, tzinfo=dt.UTC)


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A", mode="always")


def nightly(sweep, levels, *, kernel_at=None, **fields):
    """A run for each night at these levels (ops/s); its key."""
    rng, spec = random.Random(3), make_spec(sweep, threads=8)
    for night, level in enumerate(levels):
        spec = make_spec(sweep, threads=8)
        kernel = "Linux 6.12" if kernel_at is not None and night >= kernel_at else "Linux 6.1"
        spec["cluster"]["machines"][0]["facts"]["kernel"] = {"value": kernel, "how": "observed"}
        make_run(
            sweep, spec=spec, threads=8, repeat=night + 1, throughput=level * rng.gauss(1, 0.01),
            commit=f"{night:04x}beef", started_at=START + dt.timedelta(days=night), **fields,
        )  # fmt: skip
    return config_key(spec)


@pytest.fixture
def dropped(sweep):
    """Sixteen nights at 1000 ops/s, then eight at 900, on another kernel from the tenth on."""
    return nightly(sweep, [1000] * 16 + [900] * 8, kernel_at=10)


def get_page(client, key, query=""):
    return get_text(client.get(reverse("history-series", args=[key]) + query))


def get_figure(client, key, query=""):
    response = client.get(reverse("figure-history", args=[key]) + query)
    assert response.status_code == 200
    return json.loads(response.content)


# --- What is counted ---


def test_triggers_count_runs_as_they_end_and_as_they_go(sweep):
    key = nightly(sweep, [1000, 1000])
    assert History.objects.get(config_key=key).runs == 2
    spec = make_spec(sweep, threads=8)
    waiting = make_run(sweep, spec=spec, threads=8, repeat=9, status="running")
    assert History.objects.get(config_key=key).runs == 2
    ended = START + dt.timedelta(days=50)
    Run.objects.filter(pk=waiting.pk).update(status="succeeded", finished_at=ended)
    row = History.objects.get(config_key=key)
    assert (row.runs, row.last_at, row.system, row.threads) == (3, ended, "redis", 8)
    assert (row.database_name, row.cluster_name) == (spec["database"]["name"], spec["cluster"]["name"])
    make_run(sweep, spec=spec, threads=8, repeat=10, is_bracket=True)
    make_run(sweep, spec=spec, threads=8, repeat=11, status="failed")
    assert History.objects.get(config_key=key).runs == 3
    for run in Run.objects.filter(config_key=key, status="succeeded", is_bracket=False):
        run.delete()
    assert not History.objects.filter(config_key=key).exists()


def test_bulk_insert_counts_runs_once_for_each_test(team, sweep):
    first = make_run(sweep, threads=8)
    more = [
        Run(team=team, source="uploaded", name=f"copy {n}", spec=first.spec, config_key=key, system="redis",
            mode="always", workload_name="A", purpose="measured", status="succeeded", finished_at=START)
        for n, key in enumerate(["a" * 32, "b" * 32, "a" * 32])
    ]  # fmt: skip
    Run.objects.bulk_create(more)
    assert dict(History.objects.exclude(config_key=first.config_key).values_list("config_key", "runs")) == {
        "a" * 32: 2,
        "b" * 32: 1,
    }


# --- The list ---


def test_the_list_says_the_newest_value_and_the_last_change(client_in, dropped, sweep):
    page = get_text(client_in.get("/history/"))
    assert reverse("history-series", args=[dropped]) in page
    assert f"▼ {MINUS}" in page
    assert "0010beef" in page  # the sixteenth night
    assert "8 threads" in page
    assert sweep.workload.name in page


def test_the_list_is_filtered(client_in, dropped):
    for query in ("?system=mongodb", "?mode=off", "?q=nosuchthing", "?phase=load", "?cluster=elsewhere"):
        assert "No history matches" in get_text(client_in.get(f"/history/{query}"))


def test_list_shows_regressions_or_improvements(client_in, dropped, sweep):
    other = make_sweep(team=sweep.team, name="postgresql on A", system="postgresql", mode="on")
    risen = nightly(other, [1000] * 16 + [1200] * 8)
    regressions, improvements = (
        client_in.get(f"/history/?change={change}").content.decode() for change in ("regression", "improvement")
    )
    assert f"/history/{dropped}/" in regressions and f"/history/{risen}/" not in regressions
    assert f"/history/{risen}/" in improvements and f"/history/{dropped}/" not in improvements
    assert "No history matches" in client_in.get("/history/?change=regression&mode=on").content.decode()


def test_the_list_finds_by_words_and_orders(client_in, dropped, sweep):
    word = sweep.database.name.split()[0]
    for query in (f"q={word}", "system=redis", "mode=always", "sort=name", "sort=longest", "sort=x&page=99&phase=y"):
        assert dropped in get_text(client_in.get(f"/history/?{query}"))


def test_an_empty_list_says_how_a_history_begins(client_in):
    assert "A history begins with the first run that succeeds" in get_text(client_in.get("/history/"))


def test_list_query_count_does_not_depend_on_its_length(client_in, sweep):
    nightly(sweep, [1000] * 3)
    client_in.get("/history/")
    with counted() as few:
        client_in.get("/history/")
    for threads in range(20, 32):
        make_run(sweep, threads=threads)
    with counted() as many:
        assert get_text(client_in.get("/history/")).count("/history/") > 13
    assert few() == many() <= 8


# --- One history ---


def test_the_page_says_what_changed_and_which_way(client_in, dropped):
    page = get_page(client_in, dropped)
    assert "24 runs in 24 points" in page
    assert '<span class="worse nowrap"' in page
    assert '<span class="muted">new</span>' in page
    assert "kernel: Linux 6.1 → Linux 6.12" in page
    assert "READ p99, service time" in page


def test_page_query_count_does_not_depend_on_runs(client_in, sweep):
    key = nightly(sweep, [1000] * 3)
    get_page(client_in, key)
    with counted() as few:
        get_page(client_in, key)
    for night in range(30, 50):
        make_run(sweep, spec=make_spec(sweep, threads=8), threads=8, repeat=night)
    get_page(client_in, key)
    with counted() as many:
        get_page(client_in, key)
    assert few() == many() <= 11


def test_the_figure_draws_levels_changes_and_what_else_changed(client_in, dropped):
    HistoryNote.objects.create(
        team=History.objects.get().team, config_key=dropped, at=START + dt.timedelta(days=3), text="<b>new disks"
    )
    answer = get_figure(client_in, dropped)
    traces = {trace["name"]: trace for trace in answer["figure"]["data"]}
    assert traces["change, worse"]["x"] == [16]
    assert traces["change, worse"]["marker"]["symbol"] == ["triangle-down"]
    assert traces["other environment"]["x"] == [10]
    assert "&lt;b&gt;new disks" in traces["note"]["text"][0]
    assert len(traces["throughput, geometric mean"]["y"]) == 24
    assert "at least 5" in answer["caption"]
    assert len(answer["table"]["rows"]) == 24
    dates = get_figure(client_in, dropped, "?along=dates&theme=dark&narrow=1")
    assert dates["figure"]["data"][0]["x"][0].startswith("2026-01-21")  # the band begins with the current level


def test_the_numbers_leave_as_files(client_in, dropped):
    address = reverse("figure-history-data", args=[dropped, "csv"])
    rows = list(csv.DictReader(io.StringIO(get_text(client_in.get(address)))))
    assert len(rows) == 24
    assert (rows[16]["change is"], rows[16]["commit"]) == ("worse", "0010beef")
    assert float(rows[16]["change (%)"]) == pytest.approx(-10, abs=1)
    assert rows[10]["environment"] == "kernel: Linux 6.1 → Linux 6.12"
    for form in ("json", "md", "tex"):
        assert client_in.get(reverse("figure-history-data", args=[dropped, form])).status_code == 200


def test_point_is_the_mean_of_counted_runs_of_a_commit(client_in, sweep):
    spec = make_spec(sweep, threads=8)
    for repeat, (value, more) in enumerate(
        [(1000, {}), (1010, {}), (1020, {}), (5000, {"verdict": "reject"}), (1, {"excluded_reason": "the <i>disk</i>"})]
    ):
        make_run(sweep, spec=spec, threads=8, repeat=repeat, throughput=value, commit="cafe1", **more)
    answer = get_figure(client_in, config_key(spec))
    traces = {trace["name"]: trace for trace in answer["figure"]["data"]}
    assert traces["throughput, geometric mean"]["y"] == pytest.approx([1009.97], abs=0.01)
    assert sorted(traces["does not count"]["y"]) == [1, 5000]
    assert "the &lt;i&gt;disk" in str(traces["does not count"]["text"])
    assert "2 runs do not count" in answer["caption"]


def test_runs_without_a_commit_are_one_point_for_each_matrix(client_in, sweep):
    spec = make_spec(sweep, threads=8)
    for repeat in range(3):
        make_run(sweep, spec=spec, threads=8, repeat=repeat)
    assert len(get_figure(client_in, config_key(spec))["table"]["rows"]) == 1


def test_a_metric_and_a_branch_are_chosen_in_the_address(client_in, sweep):
    key = nightly(sweep, [1000] * 6, branch="main")
    make_run(sweep, spec=make_spec(sweep, threads=8), threads=8, repeat=90, commit="feed1", branch="topic")
    page = get_page(client_in, key, "?metric=READ+service+p99&branch=main&along=dates")
    assert '<option value="READ service p99" selected>' in page
    assert "6 points" in page
    answer = get_figure(client_in, key, "?metric=READ+service+p99")
    assert answer["figure"]["layout"]["yaxis"]["title"]["text"] == "READ p99, service time (ms), not from 0"


BAD_ADDRESSES = [
    ("?metric=nonsense", "is no metric of a history; throughput is shown"),
    ("?metric=READ+service+p42", "is no metric of a history"),
    ("?metric=<script>", "“&lt;script&gt;” is no metric"),
    ("?metric=SCAN+response+p99", "No run of this test measured SCAN p99"),
    ("?along=phases", "goes along commits or dates"),
    ("?branch=nobody", "No run of this test is of the branch “nobody”; all branches are shown"),
]


def test_what_cannot_be_meant_is_said_and_the_default_shown(client_in, dropped):
    for query, says in BAD_ADDRESSES:
        assert says in get_page(client_in, dropped, query)
        get_figure(client_in, dropped, query)


def test_a_metric_nobody_measured_draws_a_sentence(client_in, dropped):
    assert "Choose another metric" in get_figure(client_in, dropped, "?metric=SCAN+service+mean")["empty"]


@pytest.mark.parametrize("fields", [{"verdict": "reject"}, {"excluded_reason": "wrong disk"}])
def test_a_history_of_runs_that_do_not_count_is_drawn_hollow(client_in, sweep, fields):
    key = nightly(sweep, [1000] * 3, **fields)
    assert "3 runs in 3 points" in get_page(client_in, key)
    traces = get_figure(client_in, key)["figure"]["data"]
    assert len(next(trace for trace in traces if trace["name"] == "does not count")["x"]) == 3
    assert "too few to say anything of changes" in get_page(client_in, key)


def test_accepted_points_are_marked_with_their_reason(client_in, sweep):
    key = nightly(sweep, [1000] * 3, verdict="reject", verdict_override="the laptop was idle")
    assert 'title="the laptop was idle">accepted</span>' in get_text(client_in.get(reverse("history")))

    traces = get_figure(client_in, key)["figure"]["data"]
    (crosses,) = [trace for trace in traces if "rejected, counted" in trace["name"]]
    assert len(crosses["x"]) == 3 and "the laptop was idle" in crosses["text"][0]
    numbers = get_text(client_in.get(reverse("figure-history-data", args=[key, "csv"])))
    assert numbers.count("the laptop was idle") == 3

    Run.objects.update(verdict="warn")
    assert "accepted</span>" not in get_text(client_in.get(reverse("history")))


def test_one_point_and_values_of_zero_and_none_are_no_error(client_in, sweep):
    key = nightly(sweep, [0.0])
    get_page(client_in, key)
    get_figure(client_in, key)
    Run.objects.filter(config_key=key).update(throughput_ops_s=None)
    assert get_figure(client_in, key)["empty"]
    Run.objects.filter(config_key=key).update(throughput_ops_s=float("nan"))
    assert get_figure(client_in, key)["empty"]
    assert client_in.get("/history/").status_code == 200


def test_a_newest_point_that_stands_out_is_to_be_run_again(client_in, sweep):
    key = nightly(sweep, [1000] * 14 + [800])
    page = get_page(client_in, key)
    assert "Run it again." in page
    assert "One point is no change" in page
    assert "run again" in get_text(client_in.get("/history/"))


# --- Who may see and do what ---


def test_an_unknown_or_malformed_key_is_not_found(client_in, dropped):
    for key in ["0" * 32, "xyz", "A" * 32, "0" * 31, "../runs"]:
        assert client_in.get(f"/history/{key}/").status_code == 404


def test_another_team_finds_nothing(dropped):
    stranger = Client()
    stranger.force_login(make_user(team=make_team(), role=Role.ADMIN))
    assert dropped not in get_text(stranger.get("/history/"))
    for name, args in (("history-series", [dropped]), ("figure-history", [dropped]),
                       ("figure-history-data", [dropped, "csv"])):  # fmt: skip
        assert stranger.get(reverse(name, args=args)).status_code == 404
    for name in ("history-decide", "history-note"):
        assert stranger.post(reverse(name, args=[dropped]), {"text": "mine"}).status_code == 404
    assert not HistoryNote.objects.exists()


def test_a_viewer_reads_and_does_not_decide(team, dropped):
    viewer = Client()
    viewer.force_login(make_user(team=team, role=Role.VIEWER))
    page = get_page(viewer, dropped)
    assert "Add the note" not in page
    assert "<summary>Decide" not in page
    assert viewer.post(reverse("history-decide", args=[dropped])).status_code == 403
    assert viewer.post(reverse("history-note", args=[dropped])).status_code == 403


def decide(client, key, **data):
    return client.post(reverse("history-decide", args=[key]), {"metric": "throughput", **data}, follow=True)


def test_a_decision_is_kept_shown_and_taken_back(client_in, dropped):
    run = Run.objects.get(commit="0010beef")
    page = get_text(decide(client_in, dropped, run=run.pk, state="false", note="the <b>lab</b> was hot"))
    assert "Decided: false alarm." in page
    assert "a false alarm" in page
    assert "the &lt;b&gt;lab&lt;/b&gt; was hot" in page
    colours = [trace["name"] for trace in get_figure(client_in, dropped)["figure"]["data"]]
    assert "change, uncertain, small or false" in colours
    assert "change, worse" not in colours
    decide(client_in, dropped, run=run.pk, state="confirmed")
    assert ChangePoint.objects.get().state == "confirmed"
    assert "confirmed" in get_text(client_in.get("/history/"))
    decide(client_in, dropped, run=run.pk, state="new")
    assert not ChangePoint.objects.exists()


def test_history_says_when_nobody_is_notified(client_in, team, dropped):
    page = get_page(client_in, dropped)
    assert "Nobody in the team is notified of changes." in page
    assert f'<a href="{reverse("notifications")}">Notifications</a></span>' in page
    Webhook.objects.create(team=team, name="chat", url="https://example.org", kinds=[NoticeKind.CHANGE_POINT])
    assert "Nobody in the team is notified" not in get_page(client_in, dropped)


def test_accepted_level_has_its_date_and_names_its_metrics(client_in, dropped):
    run = Run.objects.get(commit="0010beef")
    assert "for throughput and all latencies" in get_page(client_in, dropped)
    page = get_text(client_in.post(reverse("history-accept", args=[dropped]), {"run": run.pk}, follow=True))
    assert "Accepted for throughput and all latencies: the level begins with 0010beef." in page
    assert "worse, accepted" in page
    instant = ChangePoint.objects.get().changed_at.isoformat(timespec="seconds")
    assert f'datetime="{instant}"' in page and "by " in page


def test_a_decision_belongs_to_its_metric(client_in, dropped):
    run = Run.objects.get(commit="0010beef")
    decide(client_in, dropped, run=run.pk, state="confirmed", metric="READ service mean")
    assert ChangePoint.objects.get().metric == "READ service mean"
    assert '<span class="muted">new</span>' in get_page(client_in, dropped)
    assert "confirmed" in get_page(client_in, dropped, "?metric=READ+service+mean")


@pytest.mark.parametrize("name", ["history-accept", "history-decide"])
def test_a_loss_is_accepted_for_all_metrics_with_its_reason(client_in, dropped, name):
    run = Run.objects.get(commit="0010beef")
    assert get_page(client_in, dropped).count('Because <input name="note"') == 2, "of the button, and of Decide"
    data = {"run": run.pk, "state": "accepted", "note": "safer by default", "metric": "READ service mean"}
    page = get_text(client_in.post(reverse(name, args=[dropped]), data, follow=True))
    assert "Accepted for throughput and all latencies" in page and "safer by default" in page
    assert "safer by default" in get_page(client_in, dropped, "?metric=throughput")


BAD_DECISIONS = [
    ({"run": "nonsense", "state": "false"}, "names no change"),
    ({"run": "01a1fd73-27a8-7339-ac33-ce3202e95c5b", "state": "false"}, "not part of this history"),
    ({"state": "perhaps"}, "Choose what the change is"),
    ({"state": "false", "note": "n" * 2001}, "at most 2000"),
]


def test_a_decision_that_cannot_be_kept_says_why(client_in, dropped):
    for data, says in BAD_DECISIONS:
        run = Run.objects.get(commit="0010beef")
        assert says in get_text(decide(client_in, dropped, **{"run": run.pk, **data}))
        assert not ChangePoint.objects.exists()


def test_notes_are_added_here_or_everywhere_and_deleted(client_in, team, dropped):
    address = reverse("history-note", args=[dropped])
    client_in.post(address, {"text": "new kernel", "day": "2026-01-08"})
    client_in.post(address, {"text": "moved", "everywhere": "1"})
    assert set(HistoryNote.objects.values_list("text", "config_key")) == {("new kernel", dropped), ("moved", "")}
    page = get_page(client_in, dropped)
    assert "2026-01-08: new kernel" in page
    assert "on all histories" in page
    for note in HistoryNote.objects.all():
        client_in.post(address, {"delete": note.pk})
    assert not HistoryNote.objects.exists()
    assert "deleted before" in get_text(client_in.post(address, {"delete": note.pk}, follow=True))


BAD_NOTES = [
    ({"text": " "}, "Write what happened"),
    ({"text": "x", "day": "yesterday"}, "Write the day as"),
    ({"text": "x", "day": "0001-01-01"}, "between 1990"),
    ({"text": "x" * 201}, "at most 200"),
    ({"delete": "nonsense"}, "names no note"),
]


def test_a_note_that_cannot_be_kept_says_why(client_in, dropped):
    for data, says in BAD_NOTES:
        assert says in get_text(client_in.post(reverse("history-note", args=[dropped]), data, follow=True))
        assert not HistoryNote.objects.exists()


def test_a_note_of_another_team_is_not_deleted(client_in, dropped):
    other = HistoryNote.objects.create(team=make_team(), at=START, text="theirs")
    client_in.post(reverse("history-note", args=[dropped]), {"delete": other.pk})
    assert HistoryNote.objects.filter(pk=other.pk).exists()


def test_the_run_links_to_its_history(client_in, dropped):
    run = Run.objects.filter(config_key=dropped).first()
    assert reverse("history-series", args=[dropped]) in get_text(client_in.get(f"/runs/{run.pk}/"))


def test_second_request_reads_older_environments(client_in, dropped, monkeypatch):
    monkeypatch.setattr("reports.trends.queries.history.MAX_SPECS", 13)
    first = get_page(client_in, dropped)
    assert "11 older points have not been looked at yet" in first
    assert "Linux 6.12" not in first
    second = get_page(client_in, dropped)
    assert "looked at yet" not in second
    assert "kernel: Linux 6.1 → Linux 6.12" in second


def test_histories_need_no_redis(client_in, dropped, settings):
    nowhere = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": nowhere}
    assert "kernel: Linux 6.1 → Linux 6.12" in get_page(client_in, dropped)
    assert get_figure(client_in, dropped)["figure"]

"""The runs list: what is shown, the filter in the URL, its CSV twin, and several runs at once."""

import csv
import io

import pytest

from runs.models import Run
from runs.results.pages.run_list import RunFilter
from runs.tests.factories import finding, make_matrix, make_run, make_sweep, make_workload
from runs.tests.pages import FAILURES, STATUSES, UGLY, count_queries, get_text, sign_in_viewer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
URL = "/runs/"


def names(client, query=""):
    return [run.name for run in client.get(URL + query).context["page"].object_list]


def test_it_says_what_to_do_when_there_is_no_run(client_in):
    page = get_text(client_in.get(URL))
    assert "No runs yet" in page
    assert "/matrices/new/" in page


def test_it_shows_runs_in_every_state(client_in, team):
    sweep = make_sweep(team=team)
    for threads, status in enumerate(STATUSES, start=1):
        cluster = make_sweep(team=team).database.cluster  # one active run per cluster
        make_run(sweep, threads=threads, status=status, cluster=cluster)
    page = get_text(client_in.get(URL))
    assert all(f"badge--{status}" in page for status in STATUSES)


def test_a_short_name_and_its_numbers_are_shown(client_in, team):
    make_run(make_sweep(team=team, name="redis always A"), threads=16, throughput=41_234.0)
    page = get_text(client_in.get(URL))
    assert "redis always A 16t r1" in page
    assert "41.2k" in page


def test_loads_are_hidden_until_asked_for(client_in, team):
    make_run(make_sweep(team=team, phase="load", name="the load"))
    make_run(make_sweep(team=team, name="the measure"))
    assert names(client_in) == ["the measure 2t r1"]
    assert names(client_in, "?phase=load") == ["the load 2t r1"]
    assert len(names(client_in, "?phase=any")) == 2


@pytest.mark.parametrize(
    "query",
    [
        "status=failed", "status=active", "verdict=warn", "verdict=none", "verdict=excluded",
        "system=postgresql", "mode=on", "workload=Other", "purpose=measured",
        "tag=baseline", "q=noisy", "q=BASELINE", "q=Special+matrix", "q=9.9.9",
    ],
)  # fmt: skip
def test_each_filter_finds_its_run_and_no_other(client_in, team, query):
    make_run(make_sweep(team=team, mode="always", name="plain"))
    kinds = {
        "status=failed": {"status": "failed"},
        "status=active": {"status": "queued"},
        "verdict=warn": {"verdict": "warn"},
        "verdict=none": {"status": "cancelled"},
        "verdict=excluded": {"excluded_reason": "why"},
        "tag=baseline": {"tags": ["baseline"]},
        "q=BASELINE": {"tags": ["baseline"]},
        "q=noisy": {"notes": "a noisy host"},
    }
    sweeps = {
        "system=postgresql": {"system": "postgresql"},
        "mode=on": {"mode": "on"},
        "workload=Other": {"workload": make_workload(team=team, name="Other")},
        "purpose=measured": {"purpose": "measured"},
        "q=Special+matrix": {"matrix": make_matrix(team=team, name="Special one matrix")},
    }
    wanted = make_sweep(team=team, name="wanted", **sweeps.get(query, {}))
    if query == "q=9.9.9":
        wanted.version = "9.9.9"
        wanted.save()
    make_run(wanted, threads=4, **kinds.get(query, {}))
    assert names(client_in, f"?{query}") == ["wanted 4t r1"]


def test_matrix_and_sweep_can_be_asked_for(client_in, team):
    run = make_run(make_sweep(team=team, name="mine"))
    make_run(make_sweep(team=team))
    assert names(client_in, f"?matrix={run.matrix_id}") == ["mine 2t r1"]
    assert names(client_in, f"?sweep={run.sweep_id}") == ["mine 2t r1"]


@pytest.mark.parametrize("query", ["status=nonsense", "matrix=1", "sweep=x", "page=-3", "page=x", "sort=evil", "q=%00"])
def test_nonsense_in_the_url_is_no_error(client_in, team, query):
    make_run(make_sweep(team=team))
    assert len(names(client_in, f"?{query}")) == 1


def test_nothing_found_is_said_with_a_way_back(client_in, team):
    make_run(make_sweep(team=team))
    page = get_text(client_in.get(URL, {"q": "nowhere"}))
    assert "No run matches" in page


def test_the_query_string_holds_only_what_differs():
    chosen = RunFilter({"status": "failed", "phase": "measure", "q": "a b", "sort": "newest"})
    assert chosen.query == "q=a+b&status=failed"


def test_sorts_runs_by_throughput_with_unmeasured_last(client_in, team):
    sweep = make_sweep(team=team, name="s")
    make_run(sweep, threads=1, throughput=10)
    make_run(sweep, threads=2, throughput=30)
    make_run(sweep, threads=3, status="failed")
    assert names(client_in, "?sort=fastest") == ["s 2t r1", "s 1t r1", "s 3t r1"]
    assert names(client_in, "?sort=slowest")[-1] == "s 3t r1"


@pytest.mark.parametrize(
    "sort, order", [("most-threads", [4, 2, 1]), ("fewest-threads", [1, 2, 4]), ("name-reversed", [4, 2, 1])]
)
def test_runs_are_sorted_by_columns(client_in, team, sort, order):
    sweep = make_sweep(team=team, name="s")
    for threads in (2, 4, 1):
        make_run(sweep, threads=threads)
    assert names(client_in, f"?sort={sort}") == [f"s {threads}t r1" for threads in order]


def test_headings_sort_the_filtered_list_and_state_its_order(client_in, team):
    make_run(make_sweep(team=team))
    page = get_text(client_in.get(URL, {"system": "redis", "sort": "fastest", "page": "1"}))
    assert page.count("aria-sort") == 1
    assert 'aria-sort="descending"><a class="sort" href="?system=redis&amp;sort=slowest">Throughput, ops/s' in page
    assert 'href="?system=redis&amp;sort=name">Run<' in page  # The first click sorts from A to Z.
    assert '<input type="hidden" name="sort" value="fastest">' in page


def test_long_lists_come_in_pages_that_keep_the_filter(client_in, team):
    sweep = make_sweep(team=team)
    for threads in range(1, 53):
        make_run(sweep, threads=threads, status="cancelled")
    page = get_text(client_in.get(URL, {"status": "cancelled"}))
    assert "page 1 of 2" in page
    assert "status=cancelled&amp;page=2" in page
    assert len(names(client_in, "?status=cancelled&page=2")) == 2


def test_every_reason_of_a_failure_is_named(client_in, team):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, threads=n + 1, status="failed", reason=reason) for n, reason in enumerate(FAILURES)]
    page = get_text(client_in.get(URL)).replace("&#x27;", "'")
    assert all(run.get_reason_display() in page for run in runs)


def test_ugly_text_stays_text(client_in, team):
    make_run(make_sweep(team=team, name="x"), name=UGLY, notes=UGLY, tags=["<b>bold</b>"], excluded_reason=UGLY)
    page = get_text(client_in.get(URL))
    assert "<script>alert" not in page
    assert "<b>bold" not in page


def test_the_number_of_queries_does_not_grow_with_the_runs(client_in, team):
    make_run(make_sweep(team=team))
    few = count_queries(client_in, URL)
    for _ in range(19):
        make_run(make_sweep(team=team), tags=["a"])
    assert count_queries(client_in, URL) == few


# --- CSV -----------------------------------------------------------------------------------------------------------


def get_rows(response):
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_csv_has_the_same_filter(client_in, team):
    sweep = make_sweep(team=team, name="s")
    make_run(sweep, threads=2, throughput=1234.5, tags=["a", "b"])
    make_run(sweep, threads=4, status="failed")
    response = client_in.get("/runs.csv?status=succeeded")
    (row,) = get_rows(response)
    assert "attachment" in response["Content-Disposition"]
    assert (row["name"], row["throughput_ops_s"], row["tags"]) == ("s 2t r1", "1234.5", "a, b")


def test_rejected_runs_say_which_check_and_by_how_much(client_in, team):
    sweep = make_sweep(team=team)
    interference = finding(
        "V25", "reject", title="Interference", measured="1.07 of 2 cores", threshold="0.5 cores", remedy="Stop others."
    )
    short = finding("V05", "reject", title="Duration", measured="4 s", threshold="10 s", remedy="Measure longer.")
    for repeat, findings in ((1, [interference]), (2, [interference, short])):
        make_run(sweep, repeat=repeat, verdict="reject", findings=[*findings, finding("V11", "warn", measured="drift")])
    make_run(sweep, repeat=3, verdict="pass")

    page = get_text(client_in.get("/runs/?verdict=reject"))
    rows = get_rows(client_in.get("/runs.csv?sort=oldest"))

    assert page.count("1.07 of 2 cores, limit 0.5 cores") == 2 and "drift" not in page
    assert 'V25 Interference: 2 runs. <span class="muted">Stop others.</span>' in page
    assert 'V05 Duration: 1 run. <span class="muted">Measure longer.</span>' in page
    interfered = "V25 Interference: 1.07 of 2 cores (limit: 0.5 cores)"
    assert [row["rejected_by"] for row in rows] == [
        interfered,
        f"V05 Duration: 4 s (limit: 10 s); {interfered}",
        "",
    ]


def test_csv_has_the_version_that_the_server_said(client_in, team):
    sweep = make_sweep(team=team, version="7")
    make_run(sweep, threads=2, evidence={"server_version": "7.0.15"})
    make_run(sweep, threads=4, evidence={})
    rows = get_rows(client_in.get("/runs.csv?sort=fewest-threads"))
    assert [row["version"] for row in rows] == ["7.0.15", "7"]


def test_csv_hands_no_formula_to_a_spreadsheet(client_in, team):
    make_run(make_sweep(team=team), notes="=cmd|' /C calc'!A0", name="+1")
    (row,) = get_rows(client_in.get("/runs.csv"))
    assert row["notes"].startswith("'=")
    assert row["name"] == "'+1"


# --- several at once -------------------------------------------------------------------------------------------------


def bulk(client, runs, **fields):
    return client.post("/runs/bulk/", {"run": [run.pk for run in runs], **fields}, follow=True)


def test_ticked_runs_get_tags(client_in, team):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, threads=n) for n in (1, 2)]
    page = get_text(bulk(client_in, runs, action="tag", tags="baseline, x"))
    assert "2 of 2 runs got a new tag" in page
    assert [run.tags for run in sweep.runs.all()] == [["baseline", "x"]] * 2


def test_excludes_selected_runs_and_returns_to_same_list(client_in, team):
    run = make_run(make_sweep(team=team))
    response = bulk(client_in, [run], action="exclude", reason="a backup ran", back="status=succeeded")
    run.refresh_from_db()
    assert run.excluded_reason == "a backup ran"
    assert response.redirect_chain[0][0] == "/runs/?status=succeeded"
    bulk(client_in, [run], action="include")
    run.refresh_from_db()
    assert run.excluded_reason == ""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"action": "exclude", "reason": ""}, "Write down why"),
        ({"action": "tag", "tags": " , "}, "at least one tag"),
        ({"action": "delete"}, "Choose an action"),
    ],
)
def test_a_bulk_action_that_cannot_be_done_says_why(client_in, team, fields, said):
    run = make_run(make_sweep(team=team))
    assert said in get_text(bulk(client_in, [run], **fields))


def test_runs_that_have_not_ended_are_not_run_again(client_in, team):
    waiting = make_run(make_sweep(team=team), status="queued")
    assert "Nothing was queued" in get_text(bulk(client_in, [waiting], action="again"))


def test_all_rejected_runs_of_a_filter_run_again(client_in, team):
    sweep = make_sweep(team=team)
    reject = finding("V25", "reject", title="Interference", measured="1.07 of 2 cores", threshold="0.5 cores")
    for repeat in (1, 2):
        make_run(sweep, repeat=repeat, verdict="reject", findings=[reject])
    make_run(sweep, repeat=3, verdict="pass")

    page = get_text(client_in.get("/runs/?verdict=reject"))
    assert "Run all 2 again" in page and '<input type="hidden" name="all" value="1">' in page

    answer = bulk(client_in, [], action="again", all="1", back="verdict=reject")
    assert '2 of 2 runs were put in the <a href="/queue/">queue</a> again.' in get_text(answer)
    assert sorted(sweep.runs.filter(status="queued").values_list("repeat", flat=True)) == [4, 5]


def test_message_leads_to_the_one_run_that_was_queued(client_in, team):
    answer = get_text(bulk(client_in, [make_run(make_sweep(team=team, name="mine"))], action="again"))
    again = Run.objects.get(status="queued")
    assert f'<a href="/runs/{again.pk}/">{again.name}</a> was put in the <a href="/queue/">queue</a>.' in answer


def test_uploads_are_not_offered_to_run_again(client_in, team):
    sweep = make_sweep(team=team)
    reject = finding("V05", "reject", title="Duration")
    make_run(sweep, repeat=1, verdict="reject", findings=[reject], source="uploaded")
    page = get_text(client_in.get("/runs/?verdict=reject"))
    assert "V05 Duration: 1 run." in page and "Run all" not in page

    make_run(sweep, repeat=2, verdict="reject", findings=[reject])
    page = get_text(client_in.get("/runs/?verdict=reject"))
    assert "Run 1 run again" in page and "1 uploaded: measured where they came from." in page


def compare(client, runs, **fields):
    return client.post("/runs/compare/", {"run": [run.pk for run in runs], **fields})


def test_two_selected_runs_are_shown_side_by_side(client_in, team):
    runs = [make_run(make_sweep(team=team, mode=mode)) for mode in ("off", "always")]
    response = compare(client_in, runs)
    assert response["Location"] == f"/why/?a={runs[0].pk}&b={runs[1].pk}"
    assert client_in.get(response["Location"]).status_code == 200


def test_more_selected_runs_are_the_only_points_of_a_comparison(client_in, team):
    sweeps = [make_sweep(team=team, mode=mode) for mode in ("off", "always")]
    runs = [make_run(sweep, threads=threads, throughput=100.0 * threads) for sweep in sweeps for threads in (2, 4, 8)]
    response = compare(client_in, [runs[0], runs[1], runs[3]])
    page = client_in.get(response["Location"], follow=True)
    html = get_text(page)
    assert "3 chosen runs" in html and html.count("data-side=") == 2
    figure = html.partition('data-src="/figures/latency/')[2].partition('"')[0].replace("&amp;", "&")
    points = client_in.get(f"/figures/latency/{figure}").json()["table"]["rows"]
    assert len(points) == 3


@pytest.mark.parametrize("number", [0, 1])
def test_fewer_than_two_selected_runs_are_not_compared(client_in, team, number):
    runs = [make_run(make_sweep(team=team)), make_run()]  # the second is another team's
    page = client_in.post("/runs/compare/", {"run": [run.pk for run in runs[1 - number :]], "back": "q=x"}, follow=True)
    assert "Select at least two runs" in get_text(page)
    assert page.redirect_chain[0][0] == "/runs/?q=x"


def test_ticking_nothing_is_said(client_in, team):
    make_run(make_sweep(team=team))
    assert "No run is selected" in get_text(bulk(client_in, [], action="tag", tags="a"))


def test_runs_of_another_team_match_nothing_in_a_bulk_action(client_in, team):
    foreign = make_run()
    page = get_text(
        client_in.post("/runs/bulk/", {"run": [foreign.pk, "x"], "action": "tag", "tags": "a"}, follow=True)
    )
    assert "No run is selected" in page
    foreign.refresh_from_db()
    assert foreign.tags == []


def test_the_way_back_never_leaves_the_site(client_in, team):
    run = make_run(make_sweep(team=team))
    response = bulk(client_in, [run], action="tag", tags="a", back="https://evil.example/?q=1&status=failed")
    assert response.redirect_chain[0][0].startswith("/runs/")


def test_viewer_compares_runs_and_changes_none(team):
    viewer, run = sign_in_viewer(team), make_run(make_sweep(team=team))
    page = get_text(viewer.get(URL))
    assert "Compare selected runs" in page and "Add tags" not in page
    assert viewer.post("/runs/bulk/", {"run": [run.pk], "action": "tag", "tags": "a"}).status_code == 403

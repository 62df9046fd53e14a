"""The page of one run: live, ended well, failed for every reason, and what people can do there."""

import uuid
from importlib import import_module

import numpy as np
import pytest
from django.apps import apps
from django.utils import timezone

from benchsite.accounts.models import Role
from runs.models import Run, RunEvent
from runs.queue import live
from runs.queue.remedies import REMEDIES, remedy
from runs.results import artifacts
from runs.results.measures.host import OWN, HostSamples
from runs.results.pages.run import LAST_LINES, _describe_host_use
from runs.tests.factories import (
    finding,
    make_client_run,
    make_conductors,
    make_load_generator,
    make_measurement_set,
    make_run,
    make_spec,
    make_sweep,
    measurement,
)
from runs.tests.pages import FAILURES, STATUSES, UGLY, artifact_folder, count_queries, get_text, sign_in, sign_in_viewer

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def url(run, what=""):
    return f"/runs/{run.pk}/{what}"


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A")


@pytest.fixture
def ended(sweep):
    run = make_run(sweep, threads=16, findings=[finding("V05"), finding("V01", "pass", title="Little")])
    for number in (0, 1):
        make_client_run(
            run,
            number=number,
            state="finished",
            command=["java", "-cp", "lib/*", "benchsite.Start", "-P", "a file"],
            order={
                "threads": 8,
                "properties": {"redis.password": "hunter2", "recordcount": "10"},
            },
        )
    RunEvent.objects.create(run=run, kind="status", old="queued", new="dispatched", actor="scheduler")
    return run


@pytest.fixture
def running(sweep):
    run = make_run(sweep, threads=4, status="running", started_at=timezone.now())
    make_client_run(run, state="running")
    yield run
    live.connection().delete(live.build_key(run.pk))


def polled(client, run, **query):
    return client.get(url(run, "live/"), query, headers={"HX-Request": "true"})


# --- in every state --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", STATUSES)
def test_it_shows_a_run_in_every_state(client_in, sweep, status):
    run = make_run(sweep, status=status)
    page = get_text(client_in.get(url(run)))
    assert "redis always A 2t r1" in page
    assert f"badge--{status}" in page


@pytest.mark.parametrize("phase", ["load", "measure"])
@pytest.mark.parametrize("status", ["running", "succeeded"])
def test_it_shows_loads_like_measured_runs(client_in, team, phase, status):
    get_text(client_in.get(url(make_run(make_sweep(team=team, phase=phase), status=status))))


def test_it_shows_a_run_of_which_nothing_is_known(client_in, sweep):
    get_text(client_in.get(url(make_run(sweep, measurements=[], evidence={}))))


def test_ugly_text_stays_text(client_in, sweep):
    run = make_run(
        sweep, name=UGLY, notes=UGLY, tags=["<b>bold</b>"], status="failed", reason_detail=UGLY, excluded_reason=UGLY
    )
    make_measurement_set(run, findings=[finding(message=UGLY, remedy=UGLY, title=UGLY[:70])], measurements=[])
    page = get_text(client_in.get(url(run)))
    assert "<script>alert" not in page
    assert "<b>bold" not in page


# --- live ------------------------------------------------------------------------------------------------------------


def test_a_running_one_shows_what_its_clients_say(client_in, running):
    status = live.OperationStatus(count=90.0, mean_us=800.0, p99_us=2_500.0)
    for second in (1, 2):
        text = f"{second} sec: said"
        line = live.StatusLine(0, second, 1000 + second, 41_200 * second, 41_200, {"READ": status}, text)
        live.publish(running.pk, line)
    page = get_text(client_in.get(url(running)))
    assert "41.2k" in page
    assert "2.50" in page
    assert "2 sec: said" in page
    assert "figure" in page


def test_it_polls_while_it_goes_on_and_works_without_javascript(client_in, running):
    page = get_text(client_in.get(url(running)))
    assert f'hx-get="{url(running, "live/")}' in page
    assert '<noscript><meta http-equiv="refresh"' in page


def test_an_ended_one_polls_no_more(client_in, ended):
    page = get_text(client_in.get(url(ended)))
    assert "hx-trigger" not in page
    assert 'http-equiv="refresh"' not in page


def test_a_poll_answers_with_the_part_that_changes(client_in, running):
    page = get_text(polled(client_in, running, seen="running-measuring"))
    assert "<html" not in page
    assert "hx-trigger" in page
    assert "run-badges" not in page  # nothing new to tell aloud


def test_a_poll_tells_of_a_change_once(client_in, running):
    assert 'id="run-badges"' in get_text(polled(client_in, running, seen="running-preparing"))


def test_the_poll_after_the_end_replaces_the_whole_body(client_in, ended):
    response = polled(client_in, ended, seen="running-measuring")
    assert (response["HX-Retarget"], response["HX-Reswap"]) == ("#run-body", "outerHTML")
    page = get_text(response)
    assert "hx-trigger" not in page
    assert "Verdict" in page


def test_the_live_address_opened_by_hand_leads_to_the_page(client_in, running):
    assert client_in.get(url(running, "live/")).url == url(running)


def test_without_redis_the_page_says_so(client_in, running, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    live.connection.cache_clear()
    try:
        assert "No live view" in get_text(client_in.get(url(running)))
    finally:
        live.connection.cache_clear()


def test_a_queued_one_shows_its_place_and_predicted_start(client_in, sweep, team):
    make_run(make_sweep(team=team), status="running")
    make_run(sweep, threads=2, status="queued", position=1)
    behind = make_run(sweep, threads=4, status="queued", position=2)
    make_conductors()
    page = get_text(client_in.get(url(behind)))
    assert "Number 2 in the queue" in page
    assert "Predicted to start" in page


def test_a_waiting_one_names_the_load_it_needs(client_in, sweep, team):
    load = make_run(make_sweep(team=team, phase="load", name="the load"), status="queued")
    page = get_text(client_in.get(url(make_run(sweep, status="queued", needs=load))))
    assert "It waits for" in page
    assert "the load" in page


def test_a_late_one_says_so_instead_of_a_negative_time(client_in, sweep):
    run = make_run(sweep, status="running", expected_s=10)
    assert "it takes longer" in get_text(client_in.get(url(run)))


# --- ended -----------------------------------------------------------------------------------------------------------


def test_the_verdict_comes_with_its_reasons(client_in, ended):
    page = get_text(client_in.get(url(ended)))
    assert "2 of 2 checks assessed, 1 warn" in page
    assert "The measured window is short." in page


def test_percentiles_stand_per_operation_and_kind(client_in, sweep):
    rows = [measurement("READ", 1_000.0), measurement("READ", 9_000.0, kind="response"), measurement("UPDATE", 2_000.0)]
    run = make_run(sweep, measurements=rows, target_ops_s=500)
    response = client_in.get(url(run))
    page = get_text(response)
    assert "Latency per operation, ms" in page
    lines = [(row.operation, row.latency_kind) for row in response.context["page"]["measurements"]]
    assert lines == [("READ", "service"), ("READ", "response"), ("UPDATE", "service")]
    assert "30.6" in page  # p99 of the response times


def test_tiles_of_targets_are_response_times(client_in, sweep):
    rows = [measurement("READ", 1_000.0), measurement("READ", 9_000.0, kind="response"), measurement("UPDATE", 2_000.0)]
    for target_ops_s, expected in ((500, ["response", "service"]), (None, ["service", "service"])):
        response = client_in.get(url(make_run(sweep, measurements=rows, target_ops_s=target_ops_s)))
        assert [line.latency_kind for line in response.context["page"]["tiles"]] == expected


def test_arrivals_name_the_seconds_they_are_counted_in(client_in, sweep):
    spec = make_spec(sweep, threads=8, target_ops_s=1_000, generators=())
    spec["load"]["open"] = {"arrivals": "poisson", "patience_ms": 1, "profile": []}
    run = make_run(sweep, target_ops_s=1_000, spec=spec)
    percentiles_us = {"offered_percentiles_us": {"99": None}}
    counts = {"offered": 5_000, "started": 2_000, "dropped": 3_000}
    lags = {"client_lag_us": {"p99": 10}, "operations": {"READ": {**counts, **percentiles_us}}}
    shares = {"offered_ops_s": 1_000.0, "dropped_share": 0.6, "dropped_interval": [0.58, 0.62]}
    run.measurement_sets.update(arrivals={**counts, **shares, **lags}, window_s=8.15873599052429)

    page = " ".join(get_text(client_in.get(url(run))).split())

    assert "over the 5 whole seconds of the window" in page and "where they ended in its 8.2 s: their" in page


def test_a_run_of_which_only_response_times_exist_shows_them(client_in, sweep):
    run = make_run(sweep, measurements=[measurement("READ", 9_000.0, kind="response", returns={"OK": 5})])
    page = get_text(client_in.get(url(run)))
    assert "READ p99, response time" in page
    assert "Return codes" in page


def test_it_says_how_many_clients_were_merged(client_in, sweep):
    page = get_text(client_in.get(url(make_run(sweep, clients=4, clients_merged=3))))
    assert "3 of 4" in page


@pytest.mark.parametrize(("owners", "expected"), [(("servers_cores",), None), ((), 0.0)])
def test_servers_that_ran_unseen_are_not_known(owners, expected):
    """Their processes are not known, so their CPU time is that of others; a machine without servers has none."""
    columns = {name: np.zeros(2) for name in OWN} | {"at_s": np.ones(2), "interval_s": np.ones(2)}
    for name in ("other_cores", "steal_cores", "io_wait_cores", "core0_busy"):
        columns[name] = np.zeros(2)

    use = _describe_host_use(HostSamples(columns=columns, machine="db-1", owners=owners))

    assert use["cpu_by_column"][:2] == [expected, 0.0]


def test_shows_what_the_machines_did_in_the_window(client_in, sweep, artifact_folder):
    """Other processes are busy from the beginning of the window on, and not before."""
    run = make_run(sweep, clients=0)
    begin_s = run.measurement_sets.get().window_from.timestamp()
    names = ("at_s", "interval_s", *OWN, "other_cores", "steal_cores", "io_wait_cores", "core0_busy", "core1_busy")
    rows = [(begin_s + i + 1, 1, 0.5, 0.25, 0.125, 0, 0.75 * (i >= 0), 0, 0, 1, 1) for i in range(-10, 10)]
    text = "\n".join(",".join(map(str, row)) for row in [names, *rows])
    client = make_client_run(run, generator=make_load_generator())
    artifacts.store(run, "host", "host.csv", text.encode(), client)
    page = get_text(client_in.get(url(run)))
    panel = page[page.index('id="hosts"') :]
    for value in ("1.63", "0.50", "0.25", "0.13", "0.75"):
        assert f'<td class="num">{value}</td>' in panel


def test_names_the_busiest_resource_of_the_servers(client_in, sweep, artifact_folder):
    run = make_run(sweep, clients=0)
    assert "The servers' machines were not sampled" in get_text(client_in.get(url(run))).replace("&#x27;", "'")
    number = count_queries(client_in, url(run))
    begin_s = run.measurement_sets.get().window_from.timestamp()
    rows = [f"{begin_s + i + 1:.3f},1,0.25,0.5" for i in range(10)]
    for kind, names in (("host", "core0_busy,disk_busy"), ("counters", "cache_hits_per_s,cache_misses_per_s")):
        artifacts.store(run, kind, f"{kind}.csv", "\n".join([f"at_s,interval_s,{names}", *rows]).encode())
    page = get_text(client_in.get(url(run))).replace("\N{NARROW NO-BREAK SPACE}", " ")
    machine = run.spec["cluster"]["machines"][0]["name"]
    assert f"Busiest: disk of {machine}, 50 % utilised; CPU 25 %." in page
    assert f"/figures/runs/{run.pk}/servers/" in page and f"/figures/runs/{run.pk}/counters/" in page
    assert count_queries(client_in, url(run)) == number


def test_return_codes_stand_with_their_share(client_in, sweep):
    run = make_run(sweep, measurements=[measurement("READ", 1.0, returns={"OK": 75, "NOT_FOUND": 25})])
    page = get_text(client_in.get(url(run)))
    assert "NOT_FOUND" in page
    assert "25.0" in page


def test_zero_is_the_success_of_old_clients(client_in, sweep):
    run = make_run(sweep, measurements=[measurement("READ", 1.0, returns={"0": 75, "-1": 25})])
    page = get_text(client_in.get(url(run)))
    assert '<span class="badge badge--pass">0</span>' in page
    assert '<span class="badge badge--failed">-1</span>' in page


def test_return_codes_stand_with_those_of_the_server(client_in, sweep):
    run = make_run(sweep, measurements=[measurement("INSERT", 1.0, returns={"OK": 75, "SERVICE_UNAVAILABLE": 25})])
    for number, group in enumerate(("", "", "scans"), 2):
        codes = [["INSERT", "SERVICE_UNAVAILABLE", "OOM", 9], ["INSERT", "SERVICE_UNAVAILABLE", "READONLY", 1]]
        make_client_run(run, number=number, group=group, facts={"server_codes": codes})
    response = client_in.get(url(run))
    by_code = {line["code"]: line["server_codes"] for line in response.context["page"]["returns"]}
    assert by_code == {"OK": [], "SERVICE_UNAVAILABLE": [("OOM", 18), ("READONLY", 2)]}
    assert "<code>OOM</code>" in get_text(response)


def test_command_and_properties_are_exact_without_secrets(client_in, ended):
    page = get_text(client_in.get(url(ended))).replace("&#x27;", "'")
    assert "java -cp 'lib/*' benchsite.Start -P 'a file'" in page
    assert "redis.password" in page
    assert "hunter2" not in page


def test_missing_replicas_are_not_in_force(client_in, sweep):
    reading = {"expected": {"replicas": "at least 2"}, "found": {"replicas": "1"}, "wrong": ["replicas"]}

    (line,) = client_in.get(url(make_run(sweep, evidence={"before": reading}))).context["page"]["readback"]

    assert (line["setting"], line["expected"], line["before"], line["ok"]) == ("replicas", "at least 2", "1", False)


def test_readings_of_earlier_releases_name_what_was_wrong(sweep):
    migration = import_module("runs.migrations.0051_wrong_settings")
    replicas = {
        "expected": {"appendfsync": "always", "replicas": "at least 2"},
        "found": {"replicas": "1"},
        "differences": [
            "appendfsync should be 'always', but this server does not know it.",
            "The mode needs 2 connected replicas; there are 1.",
        ],
        "in_force": False,
    }
    run = make_run(sweep, evidence={"before": {**replicas, "in_force": True, "differences": []}, "after": replicas})

    migration.name_wrong_settings(apps, None)

    run.refresh_from_db()
    assert run.evidence["after"]["wrong"] == ["appendfsync", "replicas"]
    assert "wrong" not in run.evidence["before"]


def test_the_mode_is_shown_as_read_back_before_and_after(client_in, sweep):
    reading = {"expected": {"appendfsync": "always"}, "found": {"appendfsync": "always"}, "wrong": []}
    wrong = {
        "expected": {"appendfsync": "always"},
        "found": {"appendfsync": "no"},
        "wrong": ["appendfsync"],
    }
    run = make_run(sweep, evidence={"before": reading, "after": wrong, "server_version": "7.0.15"})
    (line,) = client_in.get(url(run)).context["page"]["readback"]
    assert line == {
        "setting": "appendfsync",
        "expected": "always",
        "before": "always",
        "after": "no",
        "ok": False,
    }


def test_settings_of_the_database_are_shown_as_read_back(client_in, sweep):
    stated = {
        "row_cache_size": {"stated": "64MB", "answer": "64MiB", "is_equal": True},
        "trickle_fsync": {"stated": "true", "answer": "false", "is_equal": False},
    }
    reading = {"expected": {}, "found": {}, "wrong": [], "stated": stated}

    page = client_in.get(url(make_run(sweep, evidence={"before": reading}))).content.decode()

    rows = page[page.index("Settings of the database, read back") :].split("</table>")[0].split("</tr>")
    (cache,) = [row for row in rows if "row_cache_size" in row]
    (trickle,) = [row for row in rows if "trickle_fsync" in row]
    assert "64MiB" in cache and "differs" not in cache
    assert "differs" in trickle


def test_the_disk_probe_is_shown_with_its_warning(client_in, sweep):
    disk = {"median_us": 12.0, "file_system": "tmpfs", "flush": "fdatasync", "warning": "This disk hardly waits"}
    page = get_text(client_in.get(url(make_run(sweep, evidence={"disk": disk}))))
    assert "12.0" in page
    assert "This disk hardly waits" in page


def test_it_says_which_image_ran(client_in, sweep):
    boxed = {
        "reference": "redis:7.4",
        "image_id": "sha256:beef",
        "engine": "27.1",
        "network": "host",
        "container": "c0",
    }
    pulled = {**boxed, "digest": "redis@sha256:feed"}
    built = {**boxed, "digest": "", "memory_bytes": 2 * 1024**3, "cpus": 1.5, "network": "lab"}
    page = get_text(client_in.get(url(make_run(sweep, evidence={"container": pulled}))))
    assert "Container c0:</b> image <code>redis:7.4</code>" in page
    assert "registry <code>redis@sha256:feed</code>; Docker 27.1, host network, no limit of memory" in page
    page = get_text(client_in.get(url(make_run(sweep, threads=4, evidence={"container": built}))))
    assert "<code>sha256:beef</code>; Docker 27.1, network lab, memory limited to " in page
    assert ">2.00" in page
    assert "CPUs limited to 1.5." in page


def test_what_happened_is_told_in_order(client_in, ended):
    assert "queued → dispatched" in get_text(client_in.get(url(ended)))


# --- failed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", FAILURES)
def test_every_failure_says_why_and_what_to_do(client_in, sweep, reason):
    run = make_run(sweep, status="failed", reason=reason, reason_detail="The detail of it.")
    page = get_text(client_in.get(url(run))).replace("&#x27;", "'")
    assert run.get_reason_display() in page
    assert "The detail of it." in page
    assert remedy(reason) in page


def test_no_reason_lacks_a_remedy():
    assert set(FAILURES) | {"cancelled_by_user"} == set(REMEDIES)


def test_failure_shows_last_lines_of_the_failed_client(client_in, sweep, artifact_folder):
    run = make_run(sweep, status="failed", reason="client_failed")
    good, bad = make_client_run(run, number=0, state="finished"), make_client_run(run, number=1, state="failed")
    artifacts.store(run, "stderr", "good.stderr", b"all is well\n", good)
    artifacts.store(run, "stderr", "bad.stderr", b"".join(b"line %d\n" % n for n in range(100)), bad)
    first = client_in.get(url(run)).context["page"]["tails"][0]
    assert first["artifact"].name == "bad.stderr"
    lines = first["text"].splitlines()
    assert lines[-1] == "line 99"
    assert len(lines) == LAST_LINES


def test_a_server_that_did_not_start_shows_its_own_log(client_in, sweep, artifact_folder):
    run = make_run(sweep, status="failed", reason="server_did_not_start")
    artifacts.store(run, "server_log", "redis.log", b"Bad directive <at> line 3\n")
    artifacts.store(run, "stderr", "client.stderr", b"nothing\n")
    page = get_text(client_in.get(url(run)))
    assert "Bad directive &lt;at&gt; line 3" in page


def test_a_lost_artifact_does_not_hide_the_failure(client_in, sweep, artifact_folder):
    run = make_run(sweep, status="failed")
    kept = artifacts.store(run, "stderr", "a.stderr", b"x")
    for file in artifact_folder.rglob("*.zst"):
        file.unlink()
    assert "What to do" in get_text(client_in.get(url(run)))
    assert client_in.get(f"/artifacts/{kept.pk}/").status_code == 404


# --- artifacts -------------------------------------------------------------------------------------------------------


def test_an_artifact_comes_as_a_download_and_is_never_shown(client_in, ended, artifact_folder):
    kept = artifacts.store(ended, "summary", "../su mm<ary>.html", b"<script>alert(1)</script>")
    response = client_in.get(f"/artifacts/{kept.pk}/")
    assert response.getvalue() == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"].startswith("attachment")
    assert "/" not in response["Content-Disposition"].split("filename=")[1]


# --- acts ------------------------------------------------------------------------------------------------------------


def test_cancelling_a_queued_run_ends_it(client_in, sweep):
    run = make_run(sweep, status="queued")
    page = get_text(client_in.post(url(run, "cancel/"), follow=True))
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert "badge--cancelled" in page


def test_cancelling_a_running_one_asks_its_conductor(client_in, running):
    page = get_text(client_in.post(url(running, "cancel/"), follow=True))
    running.refresh_from_db()
    assert running.cancel_requested_at is not None
    assert "badge--cancelling" in page


def test_cancelling_an_ended_one_is_said_to_be_late(client_in, ended):
    assert "had ended before" in get_text(client_in.post(url(ended, "cancel/"), follow=True))


def test_run_again_adds_a_repeat_and_leaves_the_first(client_in, ended):
    response = client_in.post(url(ended, "again/"), follow=True)
    again = Run.objects.get(rerun_of=ended)
    assert (again.repeat, again.status) == (2, "queued")
    assert response.redirect_chain[0][0] == url(again)
    ended.refresh_from_db()
    assert ended.status == "succeeded"


def test_what_goes_on_is_not_run_again(client_in, running):
    assert "has not ended yet" in get_text(client_in.post(url(running, "again/"), follow=True))
    assert not Run.objects.filter(rerun_of=running).exists()


def test_tags_and_notes_are_kept(client_in, ended):
    client_in.post(url(ended, "annotate/"), {"tags": "A, b", "notes": "quiet"})
    ended.refresh_from_db()
    assert (ended.tags, ended.notes) == (["a", "b"], "quiet")


def test_tags_that_are_refused_change_nothing(client_in, ended):
    page = get_text(client_in.post(url(ended, "annotate/"), {"tags": "x" * 50, "notes": "new"}, follow=True))
    ended.refresh_from_db()
    assert "at most 40 characters" in page
    assert (ended.tags, ended.notes) == ([], "")


def test_excluding_stays_visible_and_can_be_undone(client_in, ended):
    page = get_text(client_in.post(url(ended, "exclude/"), {"reason": "a <backup> ran"}, follow=True))
    assert "a &lt;backup&gt; ran" in page
    page = get_text(client_in.post(url(ended, "exclude/"), {"include": "1"}, follow=True))
    assert "a &lt;backup&gt; ran" not in page.split("What happened")[0].split("Exclude this run")[0]
    ended.refresh_from_db()
    assert ended.excluded_reason == ""


@pytest.mark.parametrize("what", ["cancel/", "again/", "annotate/", "exclude/"])
def test_a_viewer_reads_and_does_nothing(team, ended, what):
    viewer = sign_in_viewer(team)
    page = get_text(viewer.get(url(ended)))
    assert "Run again" not in page
    assert viewer.post(url(ended, what), {"reason": "x", "tags": "x"}).status_code == 403
    assert client_of_admin(team).get(url(ended, what)).status_code == 405


def client_of_admin(team):
    return sign_in(team, Role.ADMIN, f"admin-{uuid.uuid4().hex[:6]}")


def test_query_count_does_not_depend_on_clients_or_findings(client_in, sweep):
    small = make_run(sweep, threads=2)
    make_client_run(small, state="finished")
    few = count_queries(client_in, url(small))
    large = make_run(sweep, threads=4, findings=[finding(f"V{n:02d}") for n in range(1, 20)])
    generator = make_load_generator()
    for number in range(8):
        make_client_run(large, number=number, generator=generator, state="finished")
        RunEvent.objects.create(run=large, kind="note")
    assert count_queries(client_in, url(large)) == few


def test_a_waiting_one_says_which_load_generator_is_silent(client_in, sweep):
    silent = make_load_generator(name="load-9", last_seen_at=None)
    page = get_text(client_in.get(url(make_run(sweep, status="queued", generators=[silent]))))
    assert "It waits for load generator load-9" in page
    assert "Predicted to start" not in page


def test_the_poll_in_which_a_run_begins_brings_its_figure(client_in, running):
    response = polled(client_in, running, seen="queued-")
    assert response["HX-Retarget"] == "#run-body"
    page = get_text(response)
    assert 'id="run-figure"' in page
    assert "hx-trigger" in page
    assert 'id="run-badges"' in page


def test_an_empty_answer_is_an_answer(client_in, sweep):
    reading = {"expected": {"save": ""}, "found": {"save": ""}, "wrong": []}
    (line,) = client_in.get(url(make_run(sweep, evidence={"before": reading}))).context["page"]["readback"]
    assert (line["before"], line["after"]) == ("", None)


def test_cancelled_before_its_server_answered(client_in, team):
    run = make_run(make_sweep(team=team), status="cancelled", reason="cancelled_by_user")
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert "<strong>Cancelled by a person</strong>" in page and "Cancelled: " not in page
    assert "The mode was not read back" in page and "Durability mode, read back" not in page

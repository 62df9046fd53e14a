"""From files to runs that compare like scheduled ones: recognised, completed, saved, shown."""

import html
import json

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from benchsite.core import formatting
from runs.models import Run, Sweep, Upload
from runs.results.duplicates import find_earlier
from runs.tests.factories import make_run, make_sweep, make_workload
from runs.tests.importing import (
    DATA,
    answers,
    bring,
    corpus,
    import_folder,
    save,
    sent,
    summary,
    zipped,
    zipped_files,
)
from runs.tests.pages import get_text
from runs.uploads.forms import number_alike
from runs.uploads.metadata import RunMetadata, StatedWorkload

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]


def test_it_shows_what_was_recognised_before_anything_is_saved(client_in):
    upload = bring(client_in, corpus("024"))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "YCSB text" in page
    assert "READ-MODIFY-WRITE" in page
    assert formatting.throughput(9717.22864639005) in page
    assert not Run.objects.exists()


def test_it_saves_a_published_result_as_a_run(client_in, user):
    upload = save(client_in, bring(client_in, corpus("024")), mode="mongodb:unknown", database="MongoDB")
    run = Run.objects.get()
    assert (upload.state, run.upload, run.source, run.status) == ("saved", upload, "uploaded", "succeeded")
    assert run.throughput_ops_s == pytest.approx(9717.22864639005)
    read = run.measurement_sets.get().measurements.get(operation="READ")
    assert (read.ok, read.mean_us, read.p95_us, read.p99_us) == (100_000, 632.21264, 1519, 7847)
    assert run.spec["stated"]["by"] == user.get_username()
    assert (run.system, run.mode, run.spec["mode"]["record"]) == ("mongodb", "unknown", {})
    assert run.verdict


def test_it_merges_clients_with_histograms_exactly(client_in):
    upload = bring(client_in, zipped(DATA / "two_clients"))
    (row,) = upload.recognised["runs"]
    assert row["exact"]
    assert [len(names) for names in row["clients"]] == [6, 6]  # three logs, a summary, status lines, properties
    run = save(client_in, upload, warmup_s="1").runs.get()
    kept = run.measurement_sets.get()
    assert (kept.clients_merged, kept.warmup_s, kept.basis) == (2, 1, "window")
    assert run.starts_at.year >= 2024
    assert run.series.count() >= 2
    assert run.artifacts.filter(kind="intervals").count() >= 2
    assert run.artifacts.filter(kind="hdr").count() == 6
    assert list(run.client_runs.values_list("state", flat=True)) == ["finished", "finished"]


def test_it_bounds_percentiles_of_several_summaries(client_in):
    upload = bring(client_in, sent("client-1.txt", summary()), sent("client-2.txt", summary(p95=900, p99=2000)))
    (row,) = upload.recognised["runs"]
    assert (row["exact"], len(row["clients"]), row["hints"]["threads"]) == (False, 2, 16)
    run = save(client_in, upload).runs.get()
    read = run.measurement_sets.get().measurements.get(operation="READ")
    assert (read.ok, read.p99_us) == (100_000, None)
    assert read.bounds["p99"][0] >= 1200
    assert read.bounds["p99"][1] <= 2000
    assert run.threads == 16


def test_it_makes_runs_of_several_runs_in_one_file(client_in):
    upload = save(client_in, bring(client_in, corpus("018")))
    runs = list(upload.runs.order_by("position"))
    assert [run.phase for run in runs] == ["load", "measure"] * 3
    assert {run.sweep.phase for run in runs} == {"load", "measure"}
    assert Sweep.objects.count() == 2
    assert [run.repeat for run in runs if run.phase == "measure"] == [1, 2, 3]


def test_it_saves_only_the_runs_that_are_ticked(client_in):
    upload = bring(client_in, corpus("018"))
    filled = answers(upload)
    for number in (0, 2, 3, 4, 5):
        del filled[f"run-{number}-keep"]
    assert client_in.post(f"/import/{upload.pk}/", filled).status_code == 302
    assert [(run.phase, run.position) for run in Run.objects.all()] == [("measure", 1)]


def test_it_takes_every_file_for_a_run_of_its_own_when_told(client_in):
    upload = bring(client_in, sent("a-8.txt", summary()), sent("a-16.txt", summary(reads=60_000)))
    assert len(upload.recognised["runs"]) == 1
    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "apart"})
    upload.refresh_from_db()
    assert [run["clients"] for run in upload.recognised["runs"]] == [[["a-8.txt"]], [["a-16.txt"]]]
    save(client_in, upload, **{"run-1-threads": "16"})
    sweep = Sweep.objects.get()
    assert sorted(sweep.runs.values_list("threads", "throughput_ops_s")) == [(8, 10_000), (16, 11_000)]


def test_curves_of_one_test_are_told_apart_by_commit(client_in):
    for commit in ("aaaa1111bbbb2222", "cccc3333dddd4444"):
        save(client_in, bring(client_in, sent("out.txt", summary(reads=len(commit)))), commit=commit)
    upload = bring(client_in, sent("next.txt", summary(reads=7)))

    choices = client_in.get(f"/import/{upload.pk}/").context["form"].fields["sweep"].choices

    names = [text for key, text in choices if key]
    assert len(set(names)) == 2 and all(", aaaa1111bb, of" in name or ", cccc3333dd, of" in name for name in names)


def test_doubtful_groups_are_not_ticked(client_in):
    files = [
        sent(name, summary(reads=reads))
        for name, reads in (("a-1.txt", 50_001), ("a-2.txt", 60_000), ("b.txt", 50_007))
    ]
    upload = bring(client_in, *files)

    page = client_in.get(f"/import/{upload.pk}/")

    assert [len(run["clients"]) for run in upload.recognised["runs"]] == [2, 1]
    assert [row["keep"].value() for row in page.context["form"].runs] == [False, True]
    assert get_text(page).count('badge--warn">doubtful') == 1
    assert "<q>One run per file</q> above" in get_text(page)

    filled = answers(upload)
    del filled["run-0-keep"]
    client_in.post(f"/import/{upload.pk}/", filled)
    response = client_in.post(f"/import/{upload.pk}/rest/", follow=True)
    rest = get_text(response)
    assert "doubtful" in rest and "</q> above" not in rest and "import these files once more" in rest


def test_published_load_of_two_clients_is_one_run(client_in):
    """They differ by `insertstart`, and by two numbers in their names."""
    upload = bring(client_in, corpus("003"), corpus("004"))

    (row,) = client_in.get(f"/import/{upload.pk}/").context["form"].runs

    assert len(row.run["clients"]) == 2
    assert (row["keep"].value(), row["threads"].value()) == (True, 60)


def test_it_takes_files_for_clients_of_one_run_when_told(client_in):
    upload = bring(client_in, corpus("012"), corpus("013"))  # Two minutes lie between them.
    assert len(upload.recognised["runs"]) == 2
    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "together"})
    upload.refresh_from_db()
    (run,) = upload.recognised["runs"]
    assert len(run["clients"]) == 2


def test_it_adds_a_rung_to_a_curve_that_was_uploaded_before(client_in):
    first = save(client_in, bring(client_in, sent("a.txt", summary())))
    sweep = first.runs.get().sweep
    second = bring(client_in, sent("b.txt", summary(reads=90_000)))
    save(client_in, second, sweep=str(sweep.pk), **{"run-0-threads": "16"})
    save(client_in, bring(client_in, sent("c.txt", summary(reads=91_000))), sweep=str(sweep.pk))
    assert sorted(sweep.runs.values_list("threads", "repeat")) == [(8, 1), (8, 2), (16, 1)]
    assert len(get_text(client_in.get(reverse("sweep", args=[sweep.pk])))) > 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mode": "redis:everysec"}, "is of redis in mode always"),
        ({"purpose": "tuning"}, "purpose is measured"),
        ({"workload_name": "other"}, "is of the workload “YCSB A”"),
    ],
)
def test_it_keeps_a_curve_of_one_kind(client_in, changes, says):
    sweep = save(client_in, bring(client_in, sent("a.txt", summary()))).runs.get().sweep
    upload = bring(client_in, sent("b.txt", summary(reads=90_000)))
    response = client_in.post(f"/import/{upload.pk}/", answers(upload, sweep=str(sweep.pk), **changes))
    assert response.status_code == 422
    assert says in response.content.decode()


def test_it_begins_the_form_with_what_the_command_line_says(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert '<option value="redis:unknown" selected>' in page
    assert 'value="8"' in page  # threads
    assert "readproportion=0.5" in page
    assert 'value="YCSB A"' in page


def test_client_properties_fill_the_form_of_all_runs(client_in):
    bare = [summary(reads=reads, updates=5_000).partition(b"\n")[2] for reads in (95_000, 96_000)]
    properties = (
        "# of every client\nrecordcount=70000\nreadproportion=0.95\nupdateproportion=0.05\n"
        "requestdistribution=latest\nthreadcount=12\ndb=site.ycsb.db.RedisClient\nredis.password=hush\n"
    )
    outputs = [sent(f"run{number}.txt", text) for number, text in enumerate(bare)]
    upload = bring(client_in, *outputs, sent("client.properties", properties))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "client properties" in page and "refused" not in page and "hush" not in page
    assert '<option value="redis:unknown" selected>' in page and 'value="70000"' in page
    assert "readproportion=0.95" in page and "requestdistribution=latest" in page
    assert [run["hints"]["threads"] for run in upload.recognised["runs"]] in ([12, 12], [24])


def test_properties_alone_are_no_result(client_in):
    upload = bring(client_in, sent("client.properties", "recordcount=1000\n"))
    assert "These are properties for a client" in get_text(client_in.get(f"/import/{upload.pk}/"))


def test_it_says_what_is_wrong_and_keeps_what_was_typed(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    wrong = {"mode": "", "database": "", "properties": "readproportion=0.5\nnonsense=1", "hardware": "eight cores",
             "run-0-threads": "-3"}  # fmt: skip
    response = client_in.post(f"/import/{upload.pk}/", answers(upload, **wrong))
    page = response.content.decode()
    assert response.status_code == 422
    for words in ("Choose the system", "nonsense", "greater than or equal to 1", "eight cores"):
        assert words in page
    assert not Run.objects.exists()


def test_threads_stated_once_are_of_all_runs_without_any(client_in):
    upload = bring(client_in, corpus("018"), sent("b.txt", summary(reads=95_000, updates=5_000)))
    mine = {f"run-{number}-threads": "" for number in range(6)} | {"run-2-threads": "7"}
    save(client_in, upload, unstated_threads="4", **mine)
    assert list(upload.runs.order_by("position").values_list("threads", flat=True)[:4]) == [4, 4, 7, 4]
    stated = bring(client_in, sent("a.txt", summary()))
    assert "unstated_threads" not in get_text(client_in.get(f"/import/{stated.pk}/"))


@pytest.mark.parametrize("target", ["", "12000"])
def test_run_of_unknown_threads_is_on_no_ladder(client_in, target):
    """Nor does its target place it among runs without one."""
    bare = [summary(reads=reads).partition(b"\n")[2] for reads in (60_000, 61_000)]
    upload = bring(client_in, *(sent(f"{name}.txt", text) for name, text in zip("ab", bare, strict=True)))
    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "apart"})
    upload.refresh_from_db()

    changes = {"run-0-threads": "", "run-0-target": target}
    unknown, stated = save(client_in, upload, **changes).runs.order_by("position")

    assert unknown.threads == 0 and unknown.name.startswith("Redis always A ")
    response = client_in.get(reverse("sweep", args=[stated.sweep_id]))
    assert [point.threads for point in response.context["curve"].points] == [8]
    assert "threads unknown: no point of the curve" in get_text(response)
    for address in (reverse("run", args=[unknown.pk]), f"{reverse('why')}?a={unknown.pk}&b={stated.pk}"):
        response = client_in.get(address)
        assert "threads unknown" in get_text(response), address
    assert "threads" in response.context["page"]["unclear"]


def test_sweep_of_unknown_threads_says_why_nothing_is_drawn(client_in):
    upload = bring(client_in, sent("a.txt", summary().partition(b"\n")[2]))

    run = save(client_in, upload, **{"run-0-threads": ""}).runs.get()

    drawn = client_in.get(reverse("figure-sweep", args=[run.sweep_id])).json()
    assert "the throughput or the threads are unknown" in drawn["empty"]
    page = get_text(client_in.get(reverse("compare"), {"sweep": str(run.sweep_id)}, follow=True))
    assert "throughput or threads unknown" in page and "did not complete" not in page
    (row,) = json.loads(b"".join(client_in.get("/histories.json").streaming_content))
    assert row["threads"] is None


def test_target_places_a_run_of_unknown_threads(client_in):
    upload = bring(client_in, sent("a.txt", summary().partition(b"\n")[2]))

    run = save(client_in, upload, **{"run-0-threads": "", "run-0-target": "12000"}).runs.get()

    response = client_in.get(reverse("sweep", args=[run.sweep_id]))
    curve = response.context["curve"]
    assert [(point.threads, point.target_ops_s) for point in curve.points] == [(0, 12_000)] and curve.rungs == (12_000,)
    assert "no point of the curve" not in get_text(response) and " 0 thread" not in get_text(response)
    drawn = client_in.get(reverse("figure-sweep", args=[run.sweep_id])).content.decode()
    assert "threads unknown, target 12.0k" in drawn and ">0 threads" not in drawn
    page = get_text(client_in.get(reverse("compare"), {"sweep": str(run.sweep_id)}, follow=True))
    assert "0 threads" not in page.replace("\N{NARROW NO-BREAK SPACE}", " ")


def read_refusal(response):
    assert response.status_code == 422
    return " ".join(html.unescape(response.content.decode()).split())


def make_mixed_import(client):
    """Workloads A and F of Redis, and A of MongoDB: the second of each says so by its command line."""
    of_mongodb = summary(reads=50_002).replace(b"RedisClient", b"MongoDbClient")
    updates_of_f = b"[READ-MODIFY-WRITE], Operations, 50000\n[READ-MODIFY-WRITE], Return=OK, 50000\n"
    of_f = summary(reads=100_000).replace(b"workloada", b"workloadf") + updates_of_f
    files = {"mongo": of_mongodb, "redis-a-x": summary(), "redis-a-y": summary(reads=50_001), "redis-f": of_f}
    return bring(client, *(sent(f"{name}.txt", text) for name, text in files.items()))


def test_ticks_the_runs_of_all_tests(client_in):
    form = client_in.get(f"/import/{make_mixed_import(client_in).pk}/").context["form"]

    assert [row["keep"].value() for row in form.runs] == [True] * 4
    assert [row.test for row in form.runs] == [0, 1, 1, 2]
    assert [test["mode"].value() for test in form.tests] == ["mongodb:unknown", "redis:unknown", "redis:unknown"]
    assert [test["workload_name"].value() for test in form.tests] == ["YCSB A", "YCSB A", "YCSB F"]
    assert not form["mode"].value() and "sweep" not in form.fields


def get_initial(form):
    """What a browser sends of the form as the page shows it."""
    forms = [form, *form.tests, *form.runs]
    values = {field.html_name: field.value() for each in forms for field in each}
    lines = {name: "\n".join(f"{key}={text}" for key, text in value.items())
             for name, value in values.items() if isinstance(value, dict)}  # fmt: skip
    sent_values = {**values, **lines}
    return {name: "on" if value is True else value for name, value in sent_values.items() if value not in (None, False)}


def test_saves_all_tests_at_once(client_in):
    upload = make_mixed_import(client_in)
    filled = get_initial(client_in.get(f"/import/{upload.pk}/").context["form"])

    response = client_in.post(f"/import/{upload.pk}/", filled | {"test-1-mode": "redis:always", "hardware": "one box"})

    assert response.status_code == 302
    runs = list(upload.runs.order_by("position"))
    assert [(run.system, run.mode) for run in runs] == [
        ("mongodb", "unknown"), ("redis", "always"), ("redis", "always"), ("redis", "unknown"),
    ]  # fmt: skip
    assert [run.workload_name for run in runs] == ["YCSB A", "YCSB A", "YCSB A", "YCSB F"]
    assert {run.spec["stated"]["hardware"] for run in runs} == {"one box"}
    assert Sweep.objects.count() == 3
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "4 runs" in page and all(sweep.name in page for sweep in Sweep.objects.all())


def post_loose_files(client, stated):
    """Loose files without a command line, two of each mix: nothing says that any two of them are of one test."""
    mixes = [(50_000, 50_000), (50_001, 50_000), (95_000, 5_000), (95_001, 5_000)]
    bare = [summary(reads=reads, updates=updates).partition(b"\n")[2] for reads, updates in mixes]
    upload = bring(client, *(sent(f"{number}.txt", text) for number, text in enumerate(bare)))
    client.post(f"/import/{upload.pk}/group/", {"grouping": "apart"})
    filled = get_initial(client.get(f"/import/{upload.pk}/").context["form"])
    threads = {f"run-{number}-threads": "8" for number in range(4)}
    response = client.post(f"/import/{upload.pk}/", filled | threads | {"mode": "redis:always"} | stated)
    assert response.status_code == 302, read_refusal(response)
    return sorted(sweep.runs.count() for sweep in Sweep.objects.all())


def test_tests_stay_apart_whatever_is_stated_of_all(client_in):
    assert post_loose_files(client_in, {"database": "Redis"}) == [1, 1, 1, 1]
    assert set(Run.objects.values_list("repeat", flat=True)) == {1}
    assert len(set(Sweep.objects.values_list("name", flat=True))) == 4
    assert len(set(Run.objects.values_list("config_key", flat=True))) == 4


def test_tests_that_a_person_names_alike_are_one_curve(client_in):
    """The files of other mixes stay apart even so."""
    assert post_loose_files(client_in, {f"test-{number}-database": "Redis" for number in range(4)}) == [2, 2]


def test_numbered_names_are_no_names_that_a_person_gave():
    workload = StatedWorkload(name="YCSB A", short_name="A", properties={})
    names = ("Redis", "Redis", "Redis 2", "Redis")
    fields = {"mode": "always", "workload": workload, "runs": []}
    curves = [RunMetadata.model_construct(database=name, **fields) for name in names]
    assert [curve.database for curve in number_alike(curves)] == ["Redis", "Redis 3", "Redis 2", "Redis 4"]


def test_loads_of_two_tests_have_two_names(client_in):
    """No workload stands in the name of a load."""
    load = summary().replace(b"-t\n", b"-load\n").replace(b"UPDATE", b"INSERT")
    of_f = load.replace(b"workloada", b"workloadf")
    of_mongodb = load.replace(b"RedisClient", b"MongoDbClient")
    upload = bring(client_in, sent("a/x.txt", load), sent("f/x.txt", of_f), sent("m/x.txt", of_mongodb))
    filled = get_initial(client_in.get(f"/import/{upload.pk}/").context["form"])
    tests = {f"test-{number}-workload_name": f"Other {number}" for number in range(3)}

    client_in.post(
        f"/import/{upload.pk}/",
        answers(upload) | filled | tests | {f"test-{n}-mode": "redis:unknown" for n in range(3)},
    )

    names = list(upload.runs.values_list("name", flat=True))
    assert len(names) == len(set(names)) == 3


def test_lists_name_the_files_of_runs(client_in):
    upload = save(client_in, bring(client_in, sent("nightly-7.txt", summary())))
    for address in (f"/import/{upload.pk}/", "/runs/"):
        assert "nightly-7.txt</span>" in get_text(client_in.get(address))


def test_tells_that_an_output_was_uploaded_before(client_in):
    first = save(client_in, bring(client_in, sent("a.txt", summary()), sent("b.md", "notes"))).runs.get()
    other = save(client_in, bring(client_in, sent("c.txt", summary(reads=50_001)))).runs.get()
    upload = save(client_in, bring(client_in, sent("again.txt", summary())))
    again = upload.runs.get()

    assert find_earlier([first, other, again]) == {again: first}
    for address in (f"/import/{upload.pk}/", f"/runs/{again.pk}/"):
        assert f'the same output as <a href="/runs/{first.pk}/">' in get_text(client_in.get(address))
    for run in (first, other):
        assert "the same output as" not in get_text(client_in.get(f"/runs/{run.pk}/"))


def test_mix_of_one_test_is_not_asked_of_another(client_in):
    """A load whose command line names properties and no mix, and operations that YCSB does not have."""
    load = (
        b"Command line: -db site.ycsb.db.RedisClient -p fieldcount=5 -threads 8 -load\nYCSB Client 0.17.0\n"
        b"[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 500.0\n"
        b"[INSERT], Operations, 500\n[INSERT], AverageLatency(us), 900.0\n[INSERT], Return=OK, 500\n"
    )
    others = summary(updates=50_001).partition(b"\n")[2].replace(b"READ", b"GET").replace(b"UPDATE", b"PUT")
    upload = bring(client_in, zipped_files({"a/load.txt": load, "b/get.txt": others, "c/x.txt": summary()}))
    filled = get_initial(client_in.get(f"/import/{upload.pk}/").context["form"])
    common = {"mode": "other:unknown", "system_name": "OurBase", "workload_name": "Unstated"}

    response = client_in.post(f"/import/{upload.pk}/", filled | common)

    assert response.status_code == 302, read_refusal(response)
    assert upload.runs.count() == 3


def test_saves_no_test_where_one_is_wrong(client_in):
    upload = make_mixed_import(client_in)
    filled = get_initial(client_in.get(f"/import/{upload.pk}/").context["form"])
    wrong = {"test-2-properties": "readproportion=0.95\nupdateproportion=0.05", "test-0-mode": "", "test-1-mode": ""}

    response = client_in.post(f"/import/{upload.pk}/", filled | wrong)

    form = response.context["form"]
    assert [bool(test.errors) for test in form.tests] == [True, True, False]
    assert [bool(row.errors) for row in form.runs] == [False, False, False, True]
    top, _, _ = read_refusal(response).partition("What was recognised")
    assert "Choose the system and its mode" in top and "Its operations are" in top
    assert all(f'href="#id_{name}"' in top for name in ("test-0-mode", "test-1-mode", "run-3-keep"))
    assert top.count('href="#id_mode"') == 1 and 'href="#id_properties"' not in top
    assert not Run.objects.exists()


def test_proposes_systems_that_names_of_files_tell(client_in):
    names = ("team_redis_a.txt", "team_mongo_a.txt", "team_redis_vs_mongo_a.txt", "team_scylla_cassandra_a.txt")
    bare = {f"{number}/{name}": summary().partition(b"\n")[2] for number, name in enumerate(names)}
    of_basic_db = summary().replace(b"RedisClient", b"BasicDB")
    of_jdbc = summary().replace(b"RedisClient", b"JdbcDBClient")
    files = {"basic/redis_b.txt": of_basic_db, "jdbc/team_mariadb.txt": of_jdbc}
    upload = bring(client_in, zipped_files(bare | files))

    form = client_in.get(f"/import/{upload.pk}/").context["form"]

    modes = {test.rows[0].run["clients"][0][0].rpartition("/")[2]: test["mode"].value() for test in form.tests}
    assert modes == {
        "team_redis_a.txt": "redis:unknown", "team_mongo_a.txt": "mongodb:unknown", "team_redis_vs_mongo_a.txt": "",
        "team_scylla_cassandra_a.txt": "", "redis_b.txt": "", "team_mariadb.txt": "mariadb:unknown",
    }  # fmt: skip
    assert not form["mode"].value()


@pytest.mark.parametrize("client", [b"mongo connection", b"mongo client connection"])
def test_proposes_the_system_of_a_connection(client_in, client):
    """Of a file whose name says nothing and that has no command line."""
    results = summary().partition(b"YCSB Client 0.17.0\n")[2]
    upload = bring(
        client_in, sent("a.txt", client + b" created with mongodb://alice:s3cret@10.66.3.31:28001\n" + results)
    )
    form = client_in.get(f"/import/{upload.pk}/").context["form"]
    assert form["mode"].value() == "mongodb:unknown"
    assert "s3cret" not in json.dumps(upload.recognised)


def test_says_what_stated_numbers_were_not_taken(client_in):
    """The import's page and the run's."""
    failing = summary(reads=100, throughput=33590.9).replace(
        b"Return=OK, 100\n", b"Return=OK, 4\n[READ], Return=ERROR, 96\n"
    )
    upload = bring(client_in, sent("a.txt", failing.partition(b"[UPDATE]")[0]))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert f"{formatting.throughput(33590.9)}</span> stated" in page
    upload = bring(client_in, corpus("070"))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    note = f"p99 {formatting.latency(4000)}"
    run = save(client_in, upload, **{"run-0-phase": "load"}).runs.get()
    assert note in page and note in get_text(client_in.get(f"/runs/{run.pk}/"))


def test_results_of_others_are_proposed_as_a_demo(client_in):
    texts = {"a/x.txt": summary(), "b/y.txt": summary(reads=95_000, updates=5_000)}
    forms = []
    for files in ({name: text.partition(b"\n")[2] for name, text in texts.items()}, texts):
        forms.append(client_in.get(f"/import/{bring(client_in, zipped_files(files)).pk}/").context["form"])
    assert [form["purpose"].value() for form in forms] == ["demo", "measured"]


def test_runs_without_a_result_are_not_ticked(client_in):
    nothing = b"[OVERALL], RunTime(ms), 41\n[OVERALL], Throughput(ops/sec), 0.0\n[READ], Return=ERROR, 2\n"
    upload = bring(client_in, zipped_files({"a/x.txt": summary(), "b/y.txt": nothing}))

    page = client_in.get(f"/import/{upload.pk}/")

    assert [row["keep"].value() for row in page.context["form"].runs] == [True, False]
    assert get_text(page).count("no result") == 1


def test_names_workloads_of_tests_by_their_operations(client_in):
    texts = {"a/x.txt": summary(), "b/y.txt": summary(reads=95_000, updates=5_000)}
    bare = {name: text.partition(b"\n")[2] for name, text in texts.items()}
    form = client_in.get(f"/import/{bring(client_in, zipped_files(bare)).pk}/").context["form"]
    names = [test["workload_name"].value() for test in form.tests]
    assert names == ["READ 50 %, UPDATE 50 %", "READ 95 %, UPDATE 5 %"]
    assert form.tests[1]["properties"].value() == "readproportion=0.95\nupdateproportion=0.05"


@pytest.mark.parametrize(
    ("counts", "names"),
    [
        ([(470, 530), (490, 510)], ["READ 50 %, UPDATE 50 %"] * 2),
        ([(470_000, 530_000), (490_000, 510_000)], ["READ 47 %, UPDATE 53 %", "READ 49 %, UPDATE 51 %"]),
        ([(2_590, 2_410), (2_670, 2_330)], ["READ 53 %, UPDATE 47 %"] * 2),
        ([(560_000, 440_000), (27, 23)], ["READ 56 %, UPDATE 44 %"] * 2),
        ([(958, 42), (480, 20), (901, 99)], [*["READ 95 %, UPDATE 5 %"] * 2, "READ 90 %, UPDATE 10 %"]),
        ([(1000, 0), (95_000, 5_000)], ["READ 100 %", "READ 95 %, UPDATE 5 %"]),
    ],
    ids=["noise", "certain", "together", "small", "standard", "other operations"],
)
def test_sampling_noise_makes_no_other_workload(client_in, counts, names):
    """Files without a command line, of two systems by their names, so that each is of a test of its own."""
    folders = ("redis-a", "mongo-b", "redis-c")
    texts = {f"{folder}/x.txt": summary(reads=reads, updates=updates).partition(b"\n")[2]
             for folder, (reads, updates) in zip(folders, counts, strict=False)}  # fmt: skip
    form = client_in.get(f"/import/{bring(client_in, zipped_files(texts)).pk}/").context["form"]
    assert [test["workload_name"].value() for test in form.tests] == names


def test_reads_alone_are_another_test_than_few_updates(client_in):
    texts = {name: summary(reads=reads, updates=updates).partition(b"\n")[2]
             for name, reads, updates in (("a.txt", 16_699, 0), ("b.txt", 95_136, 4_863))}  # fmt: skip
    form = client_in.get(f"/import/{bring(client_in, zipped_files(texts)).pk}/").context["form"]
    assert [test["workload_name"].value() for test in form.tests] == ["READ 100 %", "READ 95 %, UPDATE 5 %"]


def test_load_names_no_workload_of_other_operations(client_in):
    load = (
        b"Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -threads 8 -load\n"
        b"[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 500.0\n"
        b"[INSERT], Operations, 500\n[INSERT], AverageLatency(us), 900.0\n[INSERT], Return=OK, 500\n"
    )
    measured = summary(reads=95_000, updates=5_000).partition(b"\n")[2]
    upload = bring(client_in, zipped_files({"load.txt": load, "run.txt": measured}))
    form = client_in.get(f"/import/{upload.pk}/").context["form"]
    assert not form["workload_name"].value() and "proportion" not in str(form["properties"].value())


def test_stated_proportions_name_the_workload(client_in):
    """The order of the operations in a file is none of the workload's."""
    stated = b"-p readproportion=0.47 -p updateproportion=0.53"
    of_redis = summary(reads=480, updates=520).replace(b"-P workloads/workloada", stated)
    bare = summary().partition(b"\n")[2].replace(b"READ", b"X").replace(b"UPDATE", b"READ").replace(b"X", b"UPDATE")
    texts = {"a/x.txt": of_redis, "b/x.txt": of_redis.replace(b"RedisClient", b"MongoDbClient"), "c/x.txt": bare}
    form = client_in.get(f"/import/{bring(client_in, zipped_files(texts)).pk}/").context["form"]
    names = [test["workload_name"].value() for test in form.tests]
    assert names == ["READ 47 %, UPDATE 53 %", "READ 47 %, UPDATE 53 %", "READ 50 %, UPDATE 50 %"]


def test_shared_fields_stand_above_tests_and_runs(client_in):
    upload = make_mixed_import(client_in)
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    headings = ("What all tests share", "Tests in these files", "Runs that can be saved", "Save all")
    assert sorted(headings, key=page.index) == list(headings)
    assert "Still missing" not in page


def test_names_what_is_missing_first(client_in):
    nothing = b"[OVERALL], RunTime(ms), 41\n[OVERALL], Throughput(ops/sec), 0.0\n[READ], Return=ERROR, 2\n"
    bare = {f"{name}/x.txt": summary(reads=reads).partition(b"\n")[2] for name, reads in (("a", 1), ("redis", 2))}
    upload = bring(client_in, zipped_files({**bare, "c/x.txt": summary(), "d/x.txt": nothing}))

    page = client_in.get(f"/import/{upload.pk}/")

    missing = [(field.name, [test.number for test in tests]) for field, tests in page.context["form"].list_missing()]
    assert missing == [("mode", [0])] and "unstated_threads" in page.context["form"].fields
    text = get_text(page)
    assert text.index("Still missing") < text.index('href="#id_test-0-mode"') < text.index("What was recognised")


def test_reason_of_a_refused_file_is_shown_whole():
    reason = "It states no result. " * 20 + "Its last words."
    page = render_to_string("runs/imports/files.html", {"files": [{"name": "a.txt", "error": reason, "size": 1}]})
    assert reason in page


def test_refuses_other_workload_than_the_files_show(client_in):
    upload = make_mixed_import(client_in)
    filled = answers(upload)
    del filled["run-0-keep"]

    response = client_in.post(f"/import/{upload.pk}/", filled)

    refusal = "Its operations are READ 50 %, READ-MODIFY-WRITE 50 %, and the workload has READ 50 %, UPDATE 50 %"
    assert refusal in read_refusal(response)
    assert not Run.objects.exists()


def test_names_the_default_mix_that_nobody_stated(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    response = client_in.post(f"/import/{upload.pk}/", answers(upload, properties=""))
    assert "YCSB's default where no proportion is stated" in read_refusal(response)


@pytest.mark.parametrize("properties", ["", "fieldlength=100"])
def test_refuses_two_workloads_as_one(client_in, properties):
    upload = make_mixed_import(client_in)
    filled = answers(upload, properties=properties, records="")
    del filled["run-0-keep"]
    response = client_in.post(f"/import/{upload.pk}/", filled)
    assert [bool(row.errors) for row in response.context["form"].runs] == [False, False, False, True]


def test_refuses_two_systems_as_one(client_in):
    upload = make_mixed_import(client_in)
    filled = answers(upload)
    del filled["run-3-keep"]
    response = client_in.post(f"/import/{upload.pk}/", filled)
    assert "Its command line names mongodb, and redis is stated for it." in read_refusal(response)


def test_other_runs_follow_in_another_import(client_in):
    first = make_mixed_import(client_in)
    filled = answers(first)
    del filled["run-0-keep"], filled["run-3-keep"]
    assert "2 runs saved from" in get_text(client_in.post(f"/import/{first.pk}/", filled, follow=True))
    saved = get_text(client_in.get(f"/import/{first.pk}/"))
    assert "2 runs not saved: 2 not selected." in saved and "Import the other 2 runs of these files" in saved

    response = client_in.post(f"/import/{first.pk}/rest/")

    rest = Upload.objects.get(pk=response["Location"].split("/")[-2])
    form = client_in.get(f"/import/{rest.pk}/").context["form"]
    assert [row["keep"].value() for row in form.runs] == [True, False, False, True]
    client_in.post(f"/import/{rest.pk}/group/", {"grouping": "apart"})
    rest.refresh_from_db()
    filled = answers(rest, mode="mongodb:unknown")
    del filled["run-3-keep"]
    assert client_in.post(f"/import/{rest.pk}/", filled).status_code == 302
    assert [run.position for run in rest.runs.all()] == [0]
    assert "Import the other 1 run of these files" in get_text(client_in.get(f"/import/{rest.pk}/"))
    assert client_in.post(f"/import/{first.pk}/rest/")["Location"].endswith(f"{first.pk}/")


def test_saving_tells_which_runs_were_left_and_why(client_in):
    nothing = b"[OVERALL], RunTime(ms), 41\n[OVERALL], Throughput(ops/sec), 0.0\n[READ], Return=ERROR, 2\n"
    upload = bring(
        client_in, zipped_files({"a/x.txt": summary(), "b/x.txt": summary(reads=50_001), "d/x.txt": nothing})
    )
    filled = answers(upload)
    del filled["run-1-keep"]
    filled.pop("run-2-keep", None)
    page = get_text(client_in.post(f"/import/{upload.pk}/", filled, follow=True))
    assert "1 run saved from" in page
    assert "2 runs not saved: 1 not selected, 1 without a throughput above 0." in page


def test_counts_outweigh_the_name_of_a_workload_file(client_in):
    upload = bring(client_in, sent("a.txt", summary(reads=95_000, updates=5_000)))
    form = client_in.get(f"/import/{upload.pk}/").context["form"]
    assert form["workload_name"].value() == ""
    assert form["properties"].value() == "fieldcount=10\nfieldlength=100"


def test_names_files_of_an_import_whole(client_in):
    name = "a-long-folder/of-some-team/with-many-words-and-an-end-that-differs"
    files = [sent(f"{name}-{number}.txt", summary(reads=number)) for number in range(1, 7)]
    page = get_text(client_in.get(f"/import/{bring(client_in, *files).pk}/"))
    assert all(f'file-name">{file.name}</span></th>' in page for file in files)


def test_it_asks_for_at_least_one_run(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    filled = answers(upload)
    del filled["run-0-keep"]
    response = client_in.post(f"/import/{upload.pk}/", filled)
    assert response.status_code == 422
    assert "Select at least one run" in response.content.decode()


def test_it_makes_one_run_of_two_clicks(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    filled = answers(upload)
    for _ in range(2):
        assert client_in.post(f"/import/{upload.pk}/", filled).status_code == 302
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_it_makes_one_run_of_two_clicks_at_once(race, user):
    client = Client()
    client.force_login(user)
    upload = bring(client, sent("a.txt", summary()))
    filled = answers(upload)

    def click():
        client = Client()
        client.force_login(user)
        return client.post(f"/import/{upload.pk}/", filled).status_code

    assert race(click, 3) == [302, 302, 302]
    assert Run.objects.count() == Sweep.objects.count() == 1


def test_it_takes_a_workload_of_the_team(client_in, team):
    workload = make_workload(team=team, name="Our A")
    upload = bring(client_in, sent("a.txt", summary()))
    run = save(client_in, upload, workload=str(workload.pk), workload_name="", properties="").runs.get()
    assert (run.workload_name, run.sweep.workload) == ("Our A", workload)


def test_it_names_a_system_that_the_catalog_does_not_know(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    refused = client_in.post(f"/import/{upload.pk}/", answers(upload, mode="other:unknown"))
    assert "Write which system it was" in refused.content.decode()
    run = save(client_in, upload, mode="other:unknown", system_name="OurBase").runs.get()
    assert (run.system, run.mode, run.spec["system_name"]) == ("other", "unknown", "OurBase")


def test_it_shows_where_a_run_comes_from(client_in, user):
    upload = bring(client_in, sent("one.txt", summary()))
    run = save(client_in, upload, hardware="two racks of boxes", nodes="3", cores="8", memory_gib="64").runs.get()
    page = get_text(client_in.get(reverse("run", args=[run.pk])))
    for words in ("Where it comes from", "one.txt", "two racks of boxes", "3 nodes", "ycsb 0.17.0",
                  user.get_username(), "where they ran is not stated"):  # fmt: skip
        assert words in page


def test_it_compares_uploaded_with_scheduled_runs(client_in, team):
    sweep = make_sweep(team=team, purpose="measured")
    make_run(sweep, threads=8, throughput=8000)
    uploaded = save(client_in, bring(client_in, sent("a.txt", summary()))).runs.get().sweep
    page = get_text(client_in.get(f"{reverse('compare')}?v=1&sweep={sweep.pk}&sweep={uploaded.pk}", follow=True))
    assert "Redis · always" in page
    assert "2 chosen sweeps" in page


@pytest.mark.parametrize("name", ["runs", "sweeps", "compare", "home", "imports", "queue", "matrices"])
def test_it_shows_every_list_with_nothing_but_uploads(client_in, name):
    run = save(client_in, bring(client_in, corpus("018"))).runs.first()
    page = get_text(client_in.get(reverse(name), follow=True))
    if name in ("runs", "sweeps"):
        assert run.sweep.name in page
        assert "uploaded" in page


def test_it_filters_runs_by_their_source(client_in, team):
    make_run(make_sweep(team=team, name="ours"))
    save(client_in, bring(client_in, sent("a.txt", summary())))
    both, theirs, ours = (get_text(client_in.get(f"/runs/{q}")) for q in ("", "?source=uploaded", "?source=scheduled"))
    assert "ours 2t r1" in both
    assert "Redis always" in both
    assert "ours 2t r1" not in theirs
    assert "Redis always" not in ours


def test_it_finds_an_uploaded_curve_by_its_described_workload(client_in):
    save(client_in, bring(client_in, sent("a.txt", summary())), workload_name="Our own mix")
    for address in ("/sweeps/?workload=Our+own+mix", "/compare/?v=1&matrix=all&workload=Our+own+mix", "/sweeps/?q=mix"):
        assert "Redis always" in get_text(client_in.get(address, follow=True)).replace(" · ", " "), address


def test_it_cuts_an_uploaded_run_again(client_in):
    run = save(client_in, bring(client_in, zipped(DATA / "two_clients"))).runs.get()
    client_in.post(reverse("run-cut", args=[run.pk]), {"warmup_s": "1", "tail_s": "0"})
    assert list(run.measurement_sets.values_list("number", "warmup_s")) == [(1, 0), (2, 1)]


@pytest.mark.parametrize("what", ["histograms", "summaries"])
def test_it_recomputes_an_uploaded_run_to_the_same(client_in, what):
    from runs.results.recording.recompute import rebuild

    files = [zipped(DATA / "two_clients")] if what == "histograms" else [corpus("018")]
    for run in save(client_in, bring(client_in, *files)).runs.all():
        assert list(rebuild(Run.objects.get(pk=run.pk)).differences) == []


def test_recomputes_the_files_of_a_run_wherever_they_are_grouped(client_in):
    """As after an update that groups files otherwise: two clients of a load were two runs before."""
    from runs.results.recording.recompute import RecomputeSkipped, rebuild

    measured = sent("run.txt", summary().replace(b"RedisClient", b"MongoDbClient"))
    upload = bring(client_in, corpus("003"), corpus("004"), measured)
    load, run = save(client_in, upload, mode="mongodb:unknown").runs.order_by("position")
    Run.objects.filter(pk=run.pk).update(position=2)
    assert list(rebuild(Run.objects.get(pk=run.pk)).differences) == []
    Upload.objects.update(grouping="apart")
    with pytest.raises(RecomputeSkipped, match="for other runs"):
        rebuild(Run.objects.get(pk=load.pk))


def test_it_leaves_out_a_value_that_may_be_cut(client_in):
    upload = bring(client_in, sent("cut.txt", summary()[: summary().index(b"[UPDATE], Operations")].rstrip()[:-2]))
    (read,) = upload.recognised["files"]
    assert any("in the middle of a line" in warning["text"] for run in read["runs"] for warning in run["warnings"])

"""A matrix becomes exactly the sweeps and runs it crosses, in order, with their loads before them - or nothing."""

import pytest
from django.db.models import Count

from runs.models import Cluster, Database, LoadGenerator, Node, Run, RunEvent, Sweep
from runs.plans import PlanError, expand, preview, stored_plan, submit
from runs.plans.messages import NO_BLOCKS
from runs.plans.plan_spec import PlanSearch
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)

pytestmark = pytest.mark.django_db
DIGEST = "d" * 64
TARGETS = {"ladder": "target", "threads": 8, "rungs": [100]}


@pytest.fixture
def study():
    """A maker of unsubmitted matrices shaped like the quick study."""

    def make(**fields):
        team, machine = make_team(), make_machine()
        cluster = make_cluster(team=team, machines=[machine])
        redis = make_database(team=team, cluster=cluster, system="redis")
        postgresql = make_database(team=team, cluster=cluster, system="postgresql")
        bindings = fields.pop("bindings", {"redis": DIGEST, "postgresql": DIGEST})
        generators = [make_load_generator(machine=machine, bindings=bindings) for _ in range(fields.pop("clients", 2))]
        workloads = fields.pop("workloads", None) or [make_workload(team=team)]
        modes = fields.pop("modes", ("off", "everysec", "always"))
        entries = fields.pop("entries", [(redis, mode) for mode in modes] + [(postgresql, "off"), (postgresql, "on")])
        return make_matrix(
            team=team, entries=entries, workloads=workloads, load_generators=generators, submitted_at=None, **fields
        )

    return make


def names(matrix):
    return [run.name for run in expand(stored_plan(matrix)).runs]


def test_it_crosses_every_axis(study):
    plan = preview(stored_plan(study(repeats=3)))
    assert plan.problems == ()
    assert (plan.runs, plan.loads) == (5 * 4 * 3, 5)
    assert [cell.runs for cell in plan.cells] == [12] * 5
    assert plan.seconds > 60 * 13


def test_each_load_stands_before_what_needs_it(study):
    runs = expand(stored_plan(study(order="interleaved"))).runs
    assert [run.position for run in runs] == list(range(len(runs)))
    for run in runs:
        if run.phase == "measure":
            load = runs[run.needs]
            assert load.phase == "load"
            assert load.position < run.position
            assert load.sweep.entry == run.sweep.entry


def test_as_listed_goes_sweep_by_sweep(study):
    assert names(study())[:6] == [
        "redis off load r1", "redis off A 2t r1", "redis off A 4t r1", "redis off A 16t r1", "redis off A 32t r1",
        "redis everysec load r1",
    ]  # fmt: skip


def test_interleaved_goes_rung_by_rung(study):
    measured = [name for name in names(study(order="interleaved", repeats=2)) if "load" not in name]
    assert measured[:5] == [
        "redis off A 2t r1", "redis everysec A 2t r1", "redis always A 2t r1", "postgresql off A 2t r1",
        "postgresql on A 2t r1",
    ]  # fmt: skip
    assert [name.rsplit(" ", 1)[1] for name in measured] == ["r1"] * 20 + ["r2"] * 20


def test_randomised_is_the_same_for_the_same_seed_only(study):
    matrix = study(order="randomised", seed=7)
    first, second = names(matrix), names(matrix)
    matrix.seed = 8
    matrix.save()
    assert first == second
    assert names(matrix) != first
    assert sorted(n for n in names(matrix) if "load" not in n) == sorted(n for n in first if "load" not in n)


def test_an_exclusion_takes_out_its_cells_and_keeps_the_reason(study):
    matrix = study(exclusions=[{"match": {"mode": "always", "rung": 32}, "reason": "too slow for today"}])
    expansion = expand(stored_plan(matrix))
    assert [(cell.sweep.entry.mode, cell.rung, cell.reason) for cell in expansion.excluded] == [
        ("always", 32, "too slow for today")
    ]
    assert "redis always A 32t r1" not in [run.name for run in expansion.runs]


def test_an_override_changes_only_its_cells(study):
    matrix = study(overrides=[{"match": {"mode": "on"}, "set": {"recordcount": 500, "rungs": [2, 8]}}])
    runs = [run for run in expand(stored_plan(matrix)).runs if run.phase == "measure"]
    changed = [run for run in runs if run.sweep.entry.mode == "on"]
    assert [(run.rung, run.dataset.records) for run in changed] == [(2, 500), (8, 500)]
    assert {run.dataset.records for run in runs if run.sweep.entry.mode != "on"} == {10_000}


def test_inserting_workload_reloads_data_before_every_run(study):
    team = make_team()
    inserts = make_workload(team=team, short_name="D", properties={
        "recordcount": "1000", "readproportion": "0.95", "updateproportion": "0", "insertproportion": "0.05",
        "requestdistribution": "latest",
    })  # fmt: skip
    matrix = study(workloads=[inserts], modes=("off",), clients=1)
    kinds = ["load" if "load" in name else "run" for name in names(matrix) if name.startswith("redis")]
    assert kinds == ["load", "run"] * 4


@pytest.mark.parametrize("order", ["interleaved", "randomised"])
def test_orders_stay_within_a_data_set(study, order):
    team = make_team()
    small = make_workload(
        team=team, short_name="S", properties={"recordcount": "1000", "readproportion": "1", "updateproportion": "0"}
    )
    matrix = study(workloads=[make_workload(team=team), small], modes=("off",), rungs=[2, 4], repeats=3, order=order)
    redis = [run for run in expand(stored_plan(matrix)).runs if run.sweep.entry.database.system == "redis"]
    runs = {run.position: run for run in expand(stored_plan(matrix)).runs}
    for run in redis:
        if run.needs is not None:
            assert runs[run.needs].dataset.fingerprint == run.dataset.fingerprint
    assert sum(run.phase == "load" for run in redis) == 2
    measured = [(run.dataset.records, run.repeat) for run in runs.values() if run.phase == "measure"]
    assert [repeat for records, repeat in measured if records == 1000] == sorted([1, 2, 3] * 6)


def test_preview_states_the_cost_of_other_orders(study):
    reads = {"recordcount": "1000", "readproportion": "1", "updateproportion": "0"}
    small = make_workload(team=make_team(), short_name="S", properties=reads)
    plan = preview(stored_plan(study(order="interleaved", workloads=[make_workload(team=make_team()), small])))
    assert plan.loads == 10 and plan.orders.startswith("Every order takes the same: 10 loads, ")
    mix = {"recordcount": "10000", "readproportion": "0.95", "updateproportion": "0", "insertproportion": "0.05"}
    inserts = make_workload(team=make_team(), short_name="D", properties=mix)
    plan = preview(stored_plan(study(order="as_listed", workloads=[make_workload(team=make_team()), inserts])))
    assert plan.orders.startswith("Another order: interleaved ")


@pytest.mark.parametrize(
    ("fields", "warns"),
    [
        ({"order": "as_listed", "repeats": 3}, True),
        ({"order": "as_listed"}, False),
        ({"order": "interleaved", "repeats": 3}, False),
    ],
)
def test_preview_warns_of_repeats_without_blocks(study, fields, warns):
    assert (NO_BLOCKS in preview(stored_plan(study(**fields))).warnings) is warns


def test_it_names_both_numbers_when_threads_are_too_few(study):
    [problem] = preview(stored_plan(study(rungs=[1, 4]))).problems
    assert problem.field == "rungs"
    assert "1 thread " in problem.message and "2 clients" in problem.message


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"rungs": []}, "rungs", "at least one rung"),
        ({"rungs": [2, 2]}, "rungs", "twice"),
        ({"entries": []}, "entries", "at least one database"),
        ({"bindings": {"redis": DIGEST}}, "load_generators", "make bindings"),
        ({"clients": 0}, "load_generators", "at least one load generator"),
        ({"ladder": "target", "rungs": [1000]}, "threads", "number of threads"),
        ({"processes_per_generator": 3}, "processes_per_generator", "runs 1 at a time"),
        ({"min_operations": 1000}, "max_measure_s", "how long threads take"),
        ({"min_operations": 1000, "search": PlanSearch().to_stored("threads")}, "min_operations", "trials of a search"),
        ({"min_operations": 10**9, **TARGETS}, "min_operations", "lowest target needs"),
        ({"min_operations": 200_000, "max_measure_s": 1999, **TARGETS}, "min_operations", "a longer time or"),
        ({"modes": ("sometimes",)}, "entries", "sometimes"),
        ({"resets": {"repeat": "restart"}}, "resets", "repeats"),
        ({"load_policy": "reuse"}, "load_policy", "cannot be reused"),
        ({"rungs": list(range(2, 62)), "repeats": 50}, "repeats", "15,000 runs"),
    ],
)
def test_it_refuses_a_plan_that_cannot_run(study, fields, field, words):
    problems = preview(stored_plan(study(**fields))).problems
    assert any(problem.field == field and words in problem.message for problem in problems), problems


@pytest.mark.parametrize(("slots", "refused"), [((2, 4), False), ((4, 1), True)], ids=["enough", "one too small"])
def test_the_smallest_generator_limits_the_clients(study, slots, refused):
    matrix = study(processes_per_generator=2, rungs=[4, 8])
    for generator, count in zip(LoadGenerator.objects.order_by("name"), slots, strict=True):
        LoadGenerator.objects.filter(pk=generator.pk).update(slots=count)
    problems = preview(stored_plan(matrix)).problems
    assert [problem.field for problem in problems] == ["processes_per_generator"] * refused
    assert not refused or "runs 1 at a time" in problems[0].message


def test_a_docker_cluster_starts_servers_of_a_tag(study):
    matrix = study(modes=("off-wait-1",))
    Cluster.objects.update(provisioner="docker")
    Database.objects.update(version="7 beta")
    messages = " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)
    assert "on a docker cluster the mode cannot be had: it waits for 1 replica, and a single node starts" in messages
    assert "version '7 beta' is no tag of the image redis" in messages
    Database.objects.update(version="7.4", settings={"nodes": "2"})
    messages = " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)
    assert "replica" not in messages and "tag" not in messages


def test_replica_modes_need_enough_started_nodes(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine()])
    ring = make_database(team=cluster.team, cluster=cluster, system="cassandra")
    matrix = study(entries=[(ring, "quorum-batch")])
    (message,) = [problem.message for problem in preview(stored_plan(matrix)).problems if "replica" in problem.message]
    assert "it waits for 1 replica, and a single node starts. Raise its replication factor to 2" in message
    Database.objects.update(settings={"nodes": "3"})
    (message,) = [problem.message for problem in preview(stored_plan(matrix)).problems if "replica" in problem.message]
    assert "it waits for 1 replica, and the database states a replication factor of 1. Raise its" in message
    Database.objects.update(replication_factor=2)
    assert not [problem for problem in preview(stored_plan(matrix)).problems if "replica" in problem.message]


def test_nodes_on_machines_are_refused_where_none_can_be(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine(), make_machine()])
    cluster.nodes.update(address="10.0.0.1")
    pair = make_database(team=cluster.team, cluster=cluster, system="redis", replication_factor=2)
    matrix = study(entries=[(pair, "everysec-wait-1")])
    assert preview(stored_plan(matrix)).problems == ()

    Database.objects.update(settings={"nodes": "3"})
    matrix.faults = [{"kind": "pause", "at_s": 5, "duration_s": 1, "node": None, "value": None}]
    messages = " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)
    assert "3 nodes need as many machines, and its cluster has 2" in messages
    assert "load generators start its servers, and they apply no faults" in messages

    Database.objects.update(system="mariadb", settings={})
    matrix.entries.update(mode="flush-1")
    messages = " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)
    assert "Benchsite starts MariaDB on a conductor's own machine only" in messages


def test_nodes_on_ports_that_the_client_cannot_take_are_refused(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine(), make_machine()], provisioner="external")
    for position, port in enumerate((9042, 9043)):
        cluster.nodes.filter(position=position).update(address=f"10.0.0.{position}:{port}")
    ring = make_database(team=cluster.team, cluster=cluster, system="cassandra")
    documents = make_database(team=cluster.team, cluster=cluster, system="mongodb")

    problems = preview(stored_plan(study(entries=[(ring, "one-periodic"), (documents, "w1")]))).problems

    (message,) = [problem.message for problem in problems if "port" in problem.message]
    assert message.startswith(f"{ring.name}: The client takes one port for all nodes, and theirs are 9042, 9043")


def test_runs_record_what_reads_of_their_database_may_see(study, user):
    cluster = make_cluster(team=make_team(), machines=[make_machine()], provisioner="external")
    chosen = {"mongodb.read_preference": "primaryPreferred"}
    documents = make_database(team=cluster.team, cluster=cluster, system="mongodb", binding_properties=chosen)
    plain = make_database(team=cluster.team, cluster=cluster, system="mongodb", name="Plain")
    entries = [(documents, "w1"), (documents, "majority-linearizable"), (plain, "w1")]

    matrix = study(entries=entries, bindings={"mongodb": DIGEST})
    submit(matrix, user)

    specs = [run.spec for run in matrix.runs.filter(phase="measure")]
    reads = {(spec["database"]["name"], spec["mode"]["slug"]): spec["mode"]["record"]["reads"] for spec in specs}
    linearizable = (documents.name, "majority-linearizable")
    assert reads == {(documents.name, "w1"): "any_copy", linearizable: "linearizable", ("Plain", "w1"): "primary"}


def test_records_per_node_count_servers_that_share_a_machine(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine()])
    sizes = ("3", "6")
    clusters = [
        make_database(team=cluster.team, cluster=cluster, system="redis-cluster", settings={"nodes": nodes})
        for nodes in sizes
    ]
    plan = stored_plan(study(entries=[(database, "everysec") for database in clusters]))

    assert [entry.database.servers for entry in plan.entries] == [3, 6]
    assert [database.count_servers() for database in clusters] == [3, 6]
    assert "records for 3 / 6 nodes" in " ".join(preview(plan).sizes)


def test_databases_of_two_systems_are_no_scaling_set(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine()])
    two_nodes = make_database(team=cluster.team, cluster=cluster, system="cassandra", settings={"nodes": "2"})
    one_node = make_database(team=cluster.team, cluster=cluster, name="Redis one")
    plan = stored_plan(study(entries=[(two_nodes, "one-batch"), (one_node, "always")]))

    assert {entry.database.servers for entry in plan.entries} == {1, 2}
    assert preview(plan).sizes == ()


def test_respects_clients_without_scans_and_diskless_servers(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine()])
    cache = make_database(team=cluster.team, cluster=cluster, system="memcached", name="Cache")
    mix = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0", "scanproportion": "0.5"}
    scans = make_workload(team=cluster.team, name="Ranges", properties=mix)
    fields = {"entries": [(cache, "none")], "workloads": [scans], "bindings": {"memcached": DIGEST}}
    [problem] = preview(stored_plan(study(**fields))).problems
    assert problem.message == "Ranges scans, and the memcached client of Cache cannot: exclude this cell."
    [problem] = preview(stored_plan(study(**fields, resets={"rung": "restart"}))).problems
    assert problem.message.startswith("Cache: memcached loses its data at a restart.")


def test_rungs_last_until_their_operations_are_done(study, user):
    matrix = study(ladder="target", threads=8, rungs=[100, 1000], repeats=1, min_operations=200_000)

    submit(matrix, user)

    windows = {run.target_ops_s: run.spec["window"] for run in matrix.runs.filter(phase="measure")}
    assert [windows[target]["min_measure_s"] for target in (100, 1000)] == [2000, 200]
    assert all(window["min_measure_s"] == window["max_measure_s"] for window in windows.values())
    assert matrix.runs.filter(target_ops_s=100).first().expected_s > 2000


def test_rungs_may_last_until_their_operations_are_done(study, user):
    matrix = study(rungs=[2, 4], repeats=1, min_measure_s=10, max_measure_s=600, min_operations=3_000_000)
    plan = stored_plan(matrix)
    expected = preview(plan)

    submit(matrix, user)

    for run in matrix.runs.all():
        limits = run.spec["window"]["min_measure_s"], run.spec["window"]["max_measure_s"]
        assert limits == (10, 600 if run.phase == "measure" else 10)
    # 2 threads are thought to do 50,000 ops/s at most, 4 twice as many.
    predicted = {run.threads: run.predicted_s for run in expand(plan).runs if run.phase == "measure"}
    assert predicted == {2: 60, 4: 30}
    assert expected.may_last_s == 5 * (540 + 570)


def test_stock_clients_take_no_zipfian_constant(study):
    cluster = make_cluster(team=make_team(), machines=[make_machine()], provisioner="external")
    stock = make_database(team=cluster.team, cluster=cluster, flavour="ycsb", client="ycsb-0.17.0/redis", name="Stock")
    own = make_database(team=cluster.team, cluster=cluster, name="Own")
    mix = {"recordcount": "1000", "readproportion": "1", "requestdistribution": "zipfian", "zipfianconstant": "0.7"}
    hot = make_workload(team=cluster.team, name="Hot", properties=mix)
    bindings = {"redis": DIGEST, "ycsb-0.17.0/redis": DIGEST}

    plan = study(entries=[(stock, "off"), (own, "off")], workloads=[hot], bindings=bindings)
    problems = preview(stored_plan(plan)).problems

    (message,) = [problem.message for problem in problems if "zipfianconstant" in problem.message]
    assert message.startswith("Hot has zipfianconstant") and message.endswith("exclude Stock.")


def test_catching_up_needs_a_target(study):
    team = make_team()
    mix = {"recordcount": "1000", "readproportion": "1", "window.catch_up_ms": "100"}
    bursty = make_workload(team=team, name="Bursty", properties=mix)

    threads = preview(stored_plan(study(workloads=[bursty]))).problems
    targets = preview(stored_plan(study(workloads=[bursty], ladder="target", threads=8, rungs=[100]))).problems

    assert [problem.message for problem in threads if "catch_up" in problem.message] == [
        "Bursty has window.catch_up_ms, which needs a ladder of targets: leave it out."
    ]
    assert not [problem for problem in targets if "catch_up" in problem.message]


def test_warns_of_two_modes_on_one_external_server(study):
    """By its address: two clusters may stand for one server."""
    matrix = study(modes=("always", "everysec"))
    other = make_cluster(team=matrix.team, provisioner="external")
    Cluster.objects.filter(team=matrix.team).update(provisioner="external")
    Node.objects.filter(cluster__team=matrix.team).update(address="10.1.2.3:6379")
    matrix.entries.filter(database__system="postgresql").delete()
    matrix.entries.filter(mode="everysec").update(database=make_database(cluster=other))
    [warning] = [text for text in preview(stored_plan(matrix)).warnings if "10.1.2.3:6379" in text]
    assert "is used in the modes always, everysec, which want different values of appendfsync." in warning
    Node.objects.filter(cluster=other).update(address="10.1.2.4:6379")
    assert not [text for text in preview(stored_plan(matrix)).warnings if "external server" in text]


def test_it_refuses_no_records(study):
    team = make_team()
    empty = make_workload(team=team, properties={"recordcount": "0", "readproportion": "1", "updateproportion": "0"})
    [problem] = preview(stored_plan(study(workloads=[empty]))).problems
    assert problem.field == "workloads"
    assert "recordcount" in problem.message


def test_it_refuses_stock_clients_that_insert_the_same_keys(study):
    mix = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0", "insertproportion": "0.5"}
    inserts = make_workload(team=make_team(), properties=mix)
    assert preview(stored_plan(study(workloads=[inserts]))).problems == ()
    cluster = make_cluster(team=make_team(), machines=[make_machine()], provisioner="external")
    stock = make_database(team=cluster.team, cluster=cluster, flavour="ycsb", client="ycsb-0.17.0/redis", name="Stock")
    plan = {"entries": [(stock, "off")], "workloads": [inserts], "bindings": {"ycsb-0.17.0/redis": DIGEST}}
    problems = preview(stored_plan(study(**plan))).problems
    assert ["2 clients of ycsb-0.17.0/redis would insert the same keys" in p.message for p in problems] == [True]
    assert preview(stored_plan(study(**plan, clients=1))).problems == ()


def test_no_password_gets_into_a_spec(study):
    matrix = study()
    for entry in matrix.entries.select_related("database"):
        name = f"{entry.database.system}.password"
        entry.database.binding_properties = {name: "hunter2hunter2"}
        entry.database.save()
    submit(matrix, None)
    assert all("hunter2" not in str(run.spec) for run in Run.objects.all())


def test_it_stores_nothing_of_a_refused_plan(study):
    matrix = study(rungs=[1])
    with pytest.raises(PlanError):
        submit(matrix, None)
    assert Run.objects.count() == Sweep.objects.count() == RunEvent.objects.count() == 0


def test_it_submits_once(study):
    matrix = study()
    submit(matrix, None)
    assert matrix.submitted_at
    assert Run.objects.count() == 25
    assert RunEvent.objects.count() == 25
    with pytest.raises(PlanError, match="already submitted"):
        submit(matrix, None)
    assert Run.objects.count() == 25


@pytest.mark.slow
def test_it_submits_in_a_number_of_queries_that_does_not_grow(study, django_assert_max_num_queries):
    large = study(repeats=20)
    with django_assert_max_num_queries(30):
        submit(large, None)
    assert Run.objects.filter(matrix=large).count() == 5 * 4 * 20 + 5


def test_rungs_have_clients_of_their_own(study):
    """As in the study of 2013: 4, 8 and 10 clients of 32 threads each."""
    clients = {128: 4, 256: 8, 320: 10}
    matrix = study(clients=10, rungs=[*clients], modes=["off"])
    generators = list(matrix.load_generators.order_by("name").values_list("name", flat=True))
    matrix.overrides = [
        {"match": {"rung": rung}, "set": {"generators": generators[:count]}} for rung, count in clients.items()
    ]
    matrix.save()

    runs = [run for run in expand(stored_plan(matrix)).runs if run.phase == "measure"]

    assert {(run.threads, run.clients) for run in runs} == set(clients.items())


def test_a_spec_holds_what_decides_the_result(study):
    matrix = study()
    submit(matrix, None)
    run = Run.objects.get(name="redis always A 16t r1")
    assert run.spec["mode"]["server_settings"]["appendfsync"] == "always"
    assert run.spec["mode"]["record"]["ack"] == "disk"
    assert run.spec["client"]["digest"] == DIGEST
    assert run.spec["window"] == {"warmup_s": 2, "min_measure_s": 10, "max_measure_s": 10, "min_operations": 0}
    assert len(run.spec["generators"]) == 2
    assert run.needs.name == "redis always load r1"
    assert (
        list(Run.objects.values("sweep").annotate(n=Count("pk")).values_list("n", flat=True).order_by("n"))
        == [1] * 5 + [4] * 5
    )

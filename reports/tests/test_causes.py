"""What may have made two runs differ: the order of the rules, their sentences, and what points the other way."""

import copy
import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reports.compare.analysis.causes import RunPair, Step, causes
from reports.compare.analysis.run_sides import Line, RunSide, groups, machine_pairs
from reports.compare.pages.answer_messages import plain_text
from reports.tests.curves import curve, operation, point
from runs.checks import CheckResult
from runs.checks.spec_facts import side_facts
from runs.queue.spec import RunSpec

DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
MEMORY = {**DISK, "ack": "memory", "loss_window_s": None}
MACHINE = {
    "id": "m1", "name": "one",
    "facts": {
        "cores": {"value": 8, "how": "observed"}, "memory_bytes": 2**34, "cpu_model": "one", "kernel": "Linux 6",
        "disk_free_bytes": 7,
    },
}  # fmt: skip
SPEC: dict[str, Any] = {
    "version": 1, "phase": "measure", "purpose": "measured", "system": "redis", "system_name": "Redis",
    "catalog_digest": "",
    "database": {
        "id": "d", "name": "Redis", "version": "7.0", "replication_factor": 1, "settings": {"maxmemory": "1gb"},
        "binding_properties": {},
    },
    "mode": {
        "slug": "always", "name": "always", "record": DISK, "server_settings": {"appendfsync": "always"},
        "client_properties": {},
    },
    "workload": {
        "id": "w", "name": "A", "short_name": "A", "properties": {"readproportion": "0.5", "recordcount": "9"},
    },
    "dataset": {"records": 1_000_000, "record_bytes": 1000, "fingerprint": "f"},
    "load": {"threads": 8, "target_ops_s": None, "processes": 1},
    "window": {"warmup_s": 60, "min_measure_s": 180, "max_measure_s": 180, "min_operations": 0},
    "client": {"flavour": "benchsite", "binding": "redis", "digest": "abc", "ycsb_version": "0.17.0"},
    "cluster": {"id": "c", "name": "lab", "provisioner": "process", "machines": [MACHINE]},
    "generators": [{"id": "g", "name": "g1", "machine": {**MACHINE, "id": "m2", "name": "two"}}],
    "load_policy": "load", "resets": {"rung": "keep"}, "priming": None,
}  # fmt: skip
PLAN = SimpleNamespace(name="plan")


def side(label="A", changes=(), **fields) -> RunSide:
    """A run whose spec differs at "database.version": "7.4" and so on."""
    spec = copy.deepcopy(SPEC)
    for path, value in dict(changes).items():
        *parents, last = path.split(".")
        inner = spec
        for name in parents:
            inner = inner[name]
        inner[last] = value
    given = cast(RunSpec, spec)
    row: dict[str, Any] = {
        "spec": given, "evidence": {}, "started_at": None, "position": 0, "matrix": None, "commit": "", "branch": "",
        "source": "", "is_bracket": False, "tags": [],
    }  # fmt: skip
    run = SimpleNamespace(**{name: fields.pop(name, value) for name, value in row.items()})
    values: dict[str, Any] = {"point": point(8, 1000.0), "facts": side_facts(label, given), "repeats_ops_s": (1000.0,)}
    values["curve"] = curve()
    return RunSide(run, **{**values, **fields})


def find_causes(b: RunSide, change: float | None = -0.3, a: RunSide | None = None, **steps):
    return causes(RunPair(a or side(), b), change, steps)


def why(cause, **context) -> str:
    return plain_text("why/cause.txt", cause=cause, **context).replace("\N{NARROW NO-BREAK SPACE}", " ")


def named(*args) -> list[str]:
    return [cause.title for cause in find_causes(*args)]


def test_runs_that_differ_in_nothing_have_no_cause():
    assert find_causes(side("B")) == []


def machine(**facts):
    return [{**MACHINE, "facts": {**MACHINE["facts"], **facts}}]


@pytest.mark.parametrize(
    ("changes", "title", "sentence"),
    [
        (
            {"mode.record": MEMORY, "mode.slug": "off"},
            "Durability mode",
            "A is in mode always, B in mode off. In A a write waits for the disk, in B for the",
        ),
        ({"database.version": "7.4"}, "Version", "A is version 7.0, B is version 7.4."),
        (
            {"mode.slug": "own"},
            "Durability mode",
            "A is in mode always, B in mode own. In both a write waits for the disk.",
        ),
        ({"system": "mongodb", "system_name": "MongoDB"}, "Database", "A is Redis and B is MongoDB."),
        ({"database.name": "Redis 8"}, "Database", "A is Redis and B is Redis 8."),
        ({"workload.name": "B"}, "Workload", "A runs A and B B: each operation costs its own"),
        ({"purpose": "soak"}, "Also different", "Purpose is measured in A and soak in B."),
        ({"database.settings": {"maxmemory": "2gb"}}, "Settings", "maxmemory is 1gb in A and 2gb in B."),
        ({"mode.server_settings": {"appendfsync": "x"}}, "Settings", "appendfsync is always in A and x in B."),
        ({"cluster.machines": machine(cores=4)}, "Hardware", "Cores is 8 in A and 4 in B"),
        ({"cluster.machines": [MACHINE, {**MACHINE, "id": "m3"}]}, "Number of nodes", "A ran on 1 and B on 2 nodes."),
        ({"dataset.records": 60_000_000}, "Data set against memory", "3.6 times in B: what does not fit"),
        ({"client.ycsb_version": "0.18.0"}, "Clients", "YCSB version is 0.17.0 in A and 0.18.0 in B."),
        ({"resets": {"rung": "reload"}}, "What came before", "Rung is keep in A and reload in B."),
        ({"window.warmup_s": 5}, "Window", "Warm-up asked is"),
        ({"load.threads": 16}, "Threads", "Threads is 8 in A and 16 in B. Throughput and"),
        (
            {"workload.properties": {"readproportion": "0.95"}},
            "Another workload",
            "readproportion is 0.5 in A and 0.95",
        ),
        ({"phase": "load"}, "Another phase", "A is a measure run and B a load run"),
    ],
)
def test_each_difference_has_its_sentence(changes, title, sentence):
    cause = find_causes(side("B", changes))[0]
    assert cause.title == title and sentence in why(cause) and why(cause).endswith(".")


def test_what_the_runs_themselves_say():
    rejected = CheckResult("V07", "reject", "Errors", "", "", "2 % failed.")
    drifting = CheckResult("V11", "warn", "Steady state", "", "", "It still rose.")
    assert why(find_causes(side("B", findings=(rejected,)))[0]) == "B is rejected by Errors (V07): 2 % failed."
    assert why(find_causes(side("B", findings=(drifting,)))[0]) == "Of B only: It still rose."
    assert find_causes(side("B", findings=(drifting,)), a=side(findings=(drifting,))) == []
    assert find_causes(side("B", point=None), None)[0].title == "A missing number"
    busy = find_causes(side("B", point=point(8, 700.0, generator_cpu=0.95)))[0]
    assert busy.title == "A busy load generator" and "95 %" in why(busy) and not busy.against
    failing = point(8, 700.0, operations=(replace(operation("READ", 100.0), failed=50),))
    assert "4.76 % of B's" in why(find_causes(side("B", point=failing))[0])
    assert named(side("B", is_bracket=True)) == ["Drift"]
    day = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    later = [side(x, started_at=day + dt.timedelta(days=n)) for x, n in (("A", 0), ("B", 3))]
    assert why(find_causes(later[1], a=later[0])[0]).startswith("They began 3 days apart")
    assert find_causes(later[0], a=side(started_at=day + dt.timedelta(minutes=5))) == []


def test_the_images_and_limits_of_containers():
    ran = {"reference": "redis:7.4", "image_id": "sha256:a", "network": "host", "memory_bytes": None, "cpus": None}
    plain, other = ({"container": {**ran, **more}} for more in ({}, {"image_id": "sha256:b", "cpus": 1.5}))
    sentence = why(find_causes(side("B", evidence=other), a=side(evidence=plain))[0])
    assert "Image, by its id is sha256:a in A and sha256:b in B" in sentence
    assert "no limit in A and 1.5 in B" in sentence
    assert find_causes(side("B", evidence=plain), a=side(evidence=plain)) == []


def test_the_stated_order():
    everything = {
        "mode.record": MEMORY, "mode.slug": "off", "database.version": "7.4", "window.warmup_s": 5,
        "cluster.machines": machine(cpu_model="other"), "dataset.record_bytes": 9, "client.digest": "d",
        "load.threads": 16, "workload.properties": {"readproportion": "0.95"}, "database.settings": {},
        "load_policy": "existing",
    }  # fmt: skip
    rejected = CheckResult("V07", "reject", "Errors", "", "", "2 % failed.")
    assert named(side("B", everything, findings=(rejected,)), 0.5) == [
        "A number that is not to be believed", "Durability mode", "Another workload", "Threads", "Version", "Settings",
        "Hardware", "Data set against memory", "Clients", "What came before", "Window", "Also different",
    ]  # fmt: skip


def test_what_points_the_other_way_comes_last():
    fewer = {"cluster.machines": [MACHINE, {**MACHINE, "id": "m3"}], "window.warmup_s": 5}
    titles = ["Number of nodes", "Data set against memory", "Window"]
    assert named(side("B", fewer), 0.5) == named(side("B", fewer), None) == titles
    slower = find_causes(side("B", fewer), -0.5)
    assert [cause.title for cause in slower] == ["Window", *titles[:2]]
    assert [cause.against for cause in slower] == [False, True, True]


def test_planned_differences_come_first():
    weaker = {"mode.record": MEMORY, "mode.slug": "off", "load.threads": 16, "database.version": "7.4"}
    planned = find_causes(side("B", weaker, matrix=PLAN), -0.5, side(matrix=PLAN))
    assert [cause.title for cause in planned] == ["Threads", "Durability mode", "Version"]
    assert [cause.is_planned for cause in planned] == [True, True, False] and planned[1].against


@pytest.mark.parametrize(
    ("plans", "at_ceilings", "planned"),
    [
        ((PLAN, PLAN), False, {"Workload", "Commit", "Threads"}),
        ((PLAN, PLAN), True, {"Workload", "Commit"}),
        ((PLAN, SimpleNamespace(name="other")), False, set()),
        ((None, None), False, set()),
    ],
)
def test_only_sides_of_one_plan_have_planned_causes(plans, at_ceilings, planned):
    changes = {"workload.name": "B", "load.threads": 16, "database.version": "7.4"}
    a, b = side(matrix=plans[0], commit="aaaa"), side("B", changes, matrix=plans[1], commit="bbbb")
    listed = causes(RunPair(a, b), -0.3, at_ceilings=at_ceilings)
    assert {cause.title for cause in listed if cause.is_planned} == planned
    assert {"Workload", "Commit", "Threads", "Version"} <= {cause.title for cause in listed}


def test_ceilings_are_at_threads_of_their_own():
    cause = find_causes(side("B", {"load.threads": 16}))[0]
    chosen = SimpleNamespace(at_ceilings=True)
    assert why(cause, chosen=chosen) == "The run in the middle of A's ceiling has 8 threads, that of B's has 16."


def test_measured_effect_stands_behind_its_difference():
    step = Step("Redis · always", "Redis · off", "3.0 times", "16 threads")
    both = find_causes(side("B", {"load.threads": 16, "mode.slug": "off"}), Threads=[step])
    mode, threads = sorted(both, key=lambda cause: cause.title)
    assert threads.title == "Threads" and not mode.steps
    sentence = "Measured alone: Redis · off did 3.0 times of what Redis · always did, at 16 threads."
    assert why(threads).endswith(sentence)


def test_nodes_that_changed_places_are_no_other_hardware():
    small, large = (replace_facts("small", 4), replace_facts("large", 8))
    swapped = [side(x, {"cluster.machines": pair}) for x, pair in (("A", [small, large]), ("B", [large, small]))]
    renamed = [{**large, "name": "a"}, {**small, "name": "z"}]
    assert find_causes(swapped[1], a=swapped[0]) == []
    assert find_causes(side("B", {"cluster.machines": renamed}), a=swapped[0]) == []


def replace_facts(name, cores):
    return {"id": name, "name": name, "facts": {**MACHINE["facts"], "cores": cores}}


def test_secrets_are_named_and_never_shown():
    a, b = (side(x, {"database.settings": {"requirepass": f"secret-{x}"}}) for x in "AB")
    text = repr(groups(a, b)) + repr(find_causes(b, a=a))
    assert "secret-" not in text and "(not shown, another)" in text


def test_long_values_are_cut_around_the_place_where_they_differ():
    a, b = Line("x", "v" * 300 + "a", "v" * 300 + "b").shown(80)
    assert a.endswith("a") and b.endswith("b") and a.startswith("…") and len(a) <= 80
    assert Line("x", "y" * 300, None).shown(80) == ("y" * 79 + "…", "not known")
    assert Line("x", "short", "shorter").shown() == ("short", "shorter")


def test_passing_facts_never_differ_and_missing_ones_are_unclear():
    a, b = side(), side("B", {"cluster.machines": machine(disk_free_bytes=9, nic="fast")})
    node = machine_pairs(a, b)[0]
    assert not node.differing and [line.label for line in node.unclear] == ["nic"]
    fewer = machine_pairs(side(), side("B", {"cluster.machines": []}))
    assert (fewer[0].a, fewer[0].b) == ("one", None)

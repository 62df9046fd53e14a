"""The script of a plan starts clients as load generators do, and runs nothing that a value says."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings, strategies as st

from runs.catalog import load_catalog
from runs.plans import expand
from runs.plans.files.plan import (
    Cells,
    Changes,
    ClusterRole,
    Exclusion,
    Facts,
    GeneratorRole,
    Override,
    PlanDatabase,
    PlanEntry,
    PlanFile,
    PlanMatrix,
    PlanRefused,
    PlanWorkload,
    planned,
)
from runs.plans.files.plan_file import as_text, read_plan
from runs.plans.files.script import Cell, cell_name, list_stations, repeat_script
from runs.plans.plan_spec import PlanSearch
from runs.ycsb.properties import check_workload

MIX = check_workload({"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5"})
NASTY = "$(touch pwned) `touch pwned`; touch pwned '\" \\ * ~ #𝄞 -rf"


def a_file(**fields: Any) -> PlanFile:
    """A plan of one Redis in one mode."""
    matrix = PlanMatrix(
        name="Small", purpose="smoke", ladder="threads", repeats=1, order="as_listed", seed=1,
        processes_per_generator=1, load_policy="load", load_threads=2, warmup_s=1, min_measure_s=2, max_measure_s=2,
        min_operations=0, tags=[], rungs=[2, 4], resets={"rung": "keep"},
    )  # fmt: skip
    usual = PlanFile(
        catalog=load_catalog().digest,
        matrix=matrix.model_copy(update={name: fields.pop(name) for name in PlanMatrix.model_fields if name in fields}),
        clusters={"cluster-1": ClusterRole(provisioner="process", nodes=[Facts(cores=2)])},
        generators=generators(1),
        databases={"database-1": a_database()},
        workloads={"workload-1": a_workload()},
        entries=entries("always"),
    )
    return usual.model_copy(update=fields)


def a_database(**fields: Any) -> PlanDatabase:
    usual: dict[str, Any] = {
        "name": "Cache", "system": "redis", "version": "7.0", "replication_factor": 1, "flavour": "benchsite",
        "cluster": "cluster-1", "settings": {}, "binding_properties": {}, "secrets": [],
    }  # fmt: skip
    return PlanDatabase.model_construct(**usual | fields)


def a_workload(name: str = "Half and half", short_name: str = "A", **properties: str) -> PlanWorkload:
    return PlanWorkload.model_construct(name=name, short_name=short_name, properties=check_workload(MIX | properties))


def generators(count: int, **fields: Any) -> dict[str, GeneratorRole]:
    usual: dict[str, Any] = {"slots": 1, "facts": Facts(), "shares": []}
    return {f"generator-{n}": GeneratorRole(**usual | fields) for n in range(1, count + 1)}


def entries(*modes: str) -> list[PlanEntry]:
    return [PlanEntry(database="database-1", mode=mode) for mode in modes]


def list_cells(plan: PlanFile) -> list[Cell]:
    return [cell for station in list_stations(plan, {}) for cell in station.cells]


def run_script(folder: Path, text: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "repeat.sh").write_text(text)
    argv = ["bash", "repeat.sh", *words]
    variables = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True)


def test_script_has_servers_checks_and_clients():
    plan = as_text(a_file(entries=entries("always", "off")))

    script = repeat_script(plan)

    assert script == repeat_script(plan)
    for text in (
        "appendfsync always", "appendonly no", "# Station 1-cache-off", "appendfsync is always", "BENCHSITE_JARS",
        "YCSB_HOME", "rows after 0001-redis-always-load-r1: 1000", "deletes data of others too",
        "cell 0002-redis-always-a-2t-r1 measure threadcount=2",
    ):  # fmt: skip
        assert text in script, text
    assert "redis.host=" not in script and "redis.password=" not in script


def test_script_has_the_table_of_postgresql():
    database = a_database(name="Elephant", system="postgresql", version="15")

    script = repeat_script(as_text(a_file(databases={"database-1": database}, entries=entries("on"))))

    assert "createdb" in script, "psql and the clients ask for a database that initdb does not make"
    assert "file 0001-postgresql-on-load-r1.sql" in script and 'CREATE TABLE "usertable"' in script
    assert "synchronous_commit" in script


def test_cells_are_the_runs_of_the_plan():
    plan = a_file(generators=generators(2), repeats=2)
    runs = expand(planned(plan)).runs

    cells = list_cells(plan)

    assert [cell.name for cell in cells] == [cell_name(run) for run in runs]
    threads = [sum(int(client["threadcount"]) for client in cell.clients) for cell in cells]
    assert threads == [run.threads for run in runs]
    assert sum(int(client["insertcount"]) for client in cells[0].clients) == 1000


def test_clients_get_what_load_generators_give_them():
    """The window of a target begins after the warm-up; short runs and loads are compiled quickly, as in `workers`."""
    plan = a_file(ladder="target", threads=4, rungs=[500], warmup_s=3)

    script = repeat_script(as_text(plan))

    measured = list_cells(plan)[1].clients[0]
    assert (measured["target"], measured["window.start_s"], measured["measurement.interval"]) == ("500", "3", "both")
    assert re.search("^run_flags=.*TieredStopAtLevel=1", script, re.MULTILINE)
    assert re.search("^load_flags=.*TieredStopAtLevel=1", script, re.MULTILINE)


def test_clients_of_a_script_go_on_for_the_longest_time():
    """The script does not count: it says where a rung ends."""
    plan = a_file(rungs=[2], warmup_s=3, min_measure_s=5, max_measure_s=60, min_operations=70_000)

    script = repeat_script(as_text(plan))

    assert "Rungs end once their clients did 70,000 operations" in script.replace("\N{NARROW NO-BREAK SPACE}", " ")
    measured = list_cells(plan)[1].clients[0]
    assert measured["maxexecutiontime"] == "64"
    assert not re.search("^run_flags=.*TieredStopAtLevel=1", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("properties", "count", "stock"),
    [
        ({"insertproportion": "0.1"}, 1, "redis"),
        ({"insertproportion": "0.1"}, 2, "''"),
        ({"requestdistribution": "exactzipfian"}, 1, "''"),
    ],
)
def test_stock_client_is_offered_where_it_does_the_same(properties, count, stock):
    plan = a_file(
        generators=generators(count), workloads={"workload-1": a_workload(**properties)}, entries=entries("off")
    )

    script = repeat_script(as_text(plan))

    (station,) = re.findall(r"^station .*$", script, re.MULTILINE)
    assert station.split()[-1] == stock
    numbers = [client.get("client.number") for client in list_cells(plan)[1].clients]
    assert numbers == ([None] if count == 1 else ["0", "1"])


def test_search_is_repeated_at_the_loads_it_measured():
    search = PlanSearch(width=0.1, max_trials=9, max_error_rate=0.01)
    plan = a_file(rungs=[2], search=search, entries=entries("always", "off"))
    names = {cell.run.sweep.name for cell in list_cells(a_file(entries=entries("always", "off")))}
    always = next(name for name in names if "always" in name and "load" not in name)
    off = next(name for name in names if "off" in name and "load" not in name)

    script = repeat_script(as_text(plan), {always: [2, 24], off: [2, 48]})

    measured = re.findall("^cell [0-9]+-(.*) measure", script, re.MULTILINE)
    assert measured == ["redis-always-a-2t-r1", "redis-always-a-24t-r1", "redis-off-a-2t-r1", "redis-off-a-48t-r1"]
    with pytest.raises(PlanRefused, match="loads of this search are not known"):
        repeat_script(as_text(plan))


def test_values_of_the_plan_are_no_commands(tmp_path):
    plan = as_text(
        a_file(
            name=NASTY,
            databases={"database-1": a_database(name=NASTY, version=NASTY[:40])},
            workloads={"workload-1": a_workload(NASTY, NASTY[:12])},
        )
    )

    done = run_script(tmp_path, repeat_script(plan), "all", EMPTY_DATABASE="true")

    assert done.returncode == 2 and "Set HOST" in done.stderr
    assert not list(tmp_path.rglob("pwned*")), "something was run"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("HOST", "", "Set HOST"),
        ("BENCHSITE_JARS", "/nowhere", "BENCHSITE_JARS is no folder"),
        ("YCSB_HOME", "/nowhere", "no bin/ycsb.sh"),
        ("NOTHING", "", "Set YCSB_HOME"),
        ("EMPTY_DATABASE", "", "Set EMPTY_DATABASE"),
        ("EMPTY_DATABASE", "false", "Before 0001-redis-always-load-r1 failed"),
    ],
)
def test_script_stops_where_the_environment_lacks_something(tmp_path, name, value, message):
    environment = {"EMPTY_DATABASE": "true", "HOST": "db"}
    if name == "EMPTY_DATABASE":
        environment["BENCHSITE_JARS"] = str(tmp_path)

    done = run_script(tmp_path, repeat_script(as_text(a_file())), "all", **environment | {name: value})

    assert done.returncode == 2 and message in done.stderr
    assert not list(tmp_path.glob("outputs/*.txt"))


@pytest.mark.parametrize("words", [[], ["nothing"], ["0001"]])
def test_script_refuses_unknown_cells(tmp_path, words):
    done = run_script(tmp_path, repeat_script(as_text(a_file())), *words)

    assert done.returncode == 2 and ("No cell or station" in done.stderr or "Name what to run" in done.stderr)


def test_settings_of_servers_are_written_and_never_replaced(tmp_path):
    script = repeat_script(as_text(a_file()))
    assert run_script(tmp_path, script, "servers").returncode == 0
    settings = tmp_path / "servers" / "1-cache-always" / "redis.conf"
    assert "appendfsync always" in settings.read_text()

    settings.write_text("port 1\n")
    assert run_script(tmp_path, script, "servers").returncode == 0

    assert settings.read_text() == "port 1\n"


@pytest.mark.parametrize("name", ["two\nlines", "\u202egnp.exe", "nul\0", "x" * 200])
def test_it_takes_no_name_that_could_pass_for_something_else(name):
    with pytest.raises(PlanRefused, match="must be one line"):
        read_plan(as_text(a_file(name=name)))


def test_it_refuses_a_plan_that_cannot_be_shared_out():
    file = a_file(generators=generators(3))
    with pytest.raises(PlanRefused, match="2 threads cannot be shared out"):
        repeat_script(as_text(file))
    twice = a_file(overrides=[Override(match=Cells(), set=Changes(threads=4))])
    with pytest.raises(PlanRefused, match="planned twice"):
        repeat_script(as_text(twice))


TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)
WHOLE = st.integers(1, 500)
PLANS = st.builds(
    a_file,
    name=TEXTS,
    tags=st.lists(TEXTS, max_size=2),
    rungs=st.lists(st.integers(6, 99), min_size=1, max_size=4, unique=True),
    repeats=st.integers(1, 3),
    order=st.sampled_from(["as_listed", "interleaved", "randomised"]),
    seed=st.integers(0, 2**31 - 1),
    bracket=st.booleans(),
    processes_per_generator=st.integers(1, 3),
    warmup_s=WHOLE,
    resets=st.fixed_dictionaries({}, optional={"rung": st.sampled_from(["keep", "restart", "reload"])}),
    load_policy=st.sampled_from(["load", "existing"]),
    generators=st.integers(1, 2).map(
        lambda count: generators(count, slots=4, facts=Facts(cores=count), shares=["cluster-1"])
    ),
    workloads=st.lists(st.tuples(TEXTS, WHOLE), min_size=1, max_size=2).map(
        lambda made: {
            f"workload-{n}": a_workload(name, recordcount=str(1000 + count)) for n, (name, count) in enumerate(made, 1)
        }
    ),
    entries=st.lists(st.sampled_from(["off", "everysec", "always"]), min_size=1, unique=True).map(
        lambda modes: entries(*modes)
    ),
    exclusions=st.lists(st.integers(6, 99), max_size=2).map(
        lambda rungs: [Exclusion(reason="a “reason” = 'x'", match=Cells(mode="off", rung=rung)) for rung in rungs]
    ),
    thresholds=st.dictionaries(st.just("errors_warn"), st.floats(0, 1, allow_nan=False)),
)


@pytest.mark.slow
@seed(20261121)
@settings(max_examples=120, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLANS)
def test_any_plan_is_the_same_after_its_way_through_a_file(file):
    text = as_text(file)
    again = read_plan(text)
    assert again == file and as_text(again) == text
    assert expand(planned(again)) == expand(planned(file))
    names = [cell.name for cell in list_cells(again)]
    assert len(set(names)) == len(names) == len(expand(planned(file)).runs)

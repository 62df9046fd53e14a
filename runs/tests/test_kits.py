"""A kit: the same bytes from the same plan, clients told what load generators are told, and values that stay values."""

import io
import shlex
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from runs.catalog import load_catalog
from runs.kits import kit_name, zipped
from runs.kits.cells import cell_name, output_of, stations_of
from runs.kits.plan import (
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
    PlanResets,
    PlanWorkload,
    planned,
)
from runs.kits.plan_file import as_text, read_plan
from runs.planning import expand
from runs.ycsb.properties import check_workload

MIX = check_workload({"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5"})
NASTY = "$(touch pwned) `touch pwned`; touch pwned '\" \\ * ~ #𝄞 -rf"


def a_file(**fields: Any) -> PlanFile:
    """A plan of one Redis in one mode."""
    matrix = PlanMatrix(
        name="Small", purpose="smoke", ladder="threads", repeats=1, order="as_listed", seed=1,
        processes_per_generator=1, load_policy="load", load_threads=2, warmup_s=1, min_measure_s=2, max_measure_s=2,
        min_operations=0, tags=[], rungs=[2, 4], resets=PlanResets(rung="keep"),
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


def files_of(plan: str) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(zipped(plan))) as archive:
        return {entry.partition("/")[2]: archive.read(entry).decode() for entry in archive.namelist()}


def unpacked(plan: str, into: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(zipped(plan))) as archive:
        archive.extractall(into)
        for entry in archive.infolist():
            (into / entry.filename).chmod(entry.external_attr >> 16)
    return into / kit_name(plan)


def test_it_is_the_same_file_whenever_it_is_made():
    plan = as_text(a_file())
    assert zipped(plan) == zipped(plan)
    with zipfile.ZipFile(io.BytesIO(zipped(plan))) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.filename.split("/")[0] for entry in archive.infolist()} == {kit_name(plan)}
    assert kit_name(plan) != kit_name(as_text(a_file(name="Small!"))) != kit_name(as_text(a_file(seed=2)))


def test_it_holds_everything_that_a_stranger_needs():
    files = files_of(as_text(a_file(entries=entries("always", "off"))))
    assert {"README.md", "plan.toml", "lib.sh", "run-here.sh", "client-1.sh", "expected-rows.csv", "outputs/kit.json",
            "load-1-cache-always.sh", "load-1-cache-off.sh"} <= set(files)  # fmt: skip
    assert "appendfsync always" in files["servers/1-cache-always/redis.conf"]
    assert "appendonly no" in files["servers/1-cache-off/redis.conf"]
    assert "redis.host" not in "".join(text for name, text in files.items() if name.startswith("properties/"))
    for word in ("HOST", "BENCHSITE_JARS", "YCSB_HOME", "EMPTY_DATABASE", "run by hand", "`appendfsync` is `always`"):
        assert word in files["README.md"], word
    assert "It deletes everything in database 0 of that Redis, also data of others" in files["README.md"]
    postgresql = a_database(name="Elephant", system="postgresql", version="15")
    files = files_of(as_text(a_file(databases={"database-1": postgresql}, entries=entries("on"))))
    assert "createdb" in files["README.md"], "psql and the clients ask for a database that initdb does not make"
    assert 'CREATE TABLE "usertable"' in files["schema/0001-postgresql-on-load-r1.sql"]
    assert "synchronous_commit" in files["servers/1-elephant-on/postgresql.conf"]


def test_cells_are_runs_of_the_plan_and_name_their_files():
    file = a_file(generators=generators(2), repeats=2)
    cells = [cell for station in stations_of(file) for cell in station.cells]
    runs = expand(planned(file)).runs
    assert [cell.name for cell in cells] == [cell_name(run) for run in runs]
    assert [sum(client.threads for client in cell.clients) for cell in cells] == [run.threads for run in runs]
    assert sum(int(client.properties["insertcount"]) for client in cells[0].clients) == 1000
    assert output_of(f"a/b\\{cells[1].name}.client-2.READ.hdr") == (cells[1].name, 1, "READ.hdr")
    for other in ("README.md", "0001-x.client-0.summary.txt", "x.client-1.READ.hdr", "0001-a.client-1."):
        assert output_of(other) is None


def test_its_values_stay_values_whatever_they_say(tmp_path):
    """Names that would be commands, were they ever read as such; the scripts stop at the first missing variable."""
    plan = as_text(
        a_file(
            name=NASTY,
            databases={"database-1": a_database(name=NASTY, version=NASTY[:40])},
            workloads={"workload-1": a_workload(NASTY, NASTY[:12])},
        )
    )
    folder = unpacked(plan, tmp_path)
    environment = {"PATH": "/usr/bin:/bin", "EMPTY_DATABASE": "true"}
    for script in sorted(folder.glob("*.sh")):
        assert subprocess.run(["/bin/sh", "-n", script], capture_output=True, check=True).stderr == b""
        if script.name != "lib.sh":
            done = subprocess.run([script, "all"], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 2 and "Set HOST" in done.stderr
    assert not list(tmp_path.rglob("pwned*")), "something was run"
    for line in (folder / "client-1.sh").read_text().splitlines():
        if line.startswith(("cell ", "station ")):
            assert all(word == shlex.quote(shlex.split(word)[0]) for word in shlex.split(line, posix=False)[1:])
    assert "\n" not in (folder / "README.md").read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("HOST", "a;touch pwned", "HOST holds a character"),
        ("HOST", "$(touch pwned)", "HOST holds a character"),
        ("PORT", "1;2", "PORT must be a number"),
        ("EXTRA_PROPERTIES", "/nowhere", "EXTRA_PROPERTIES names no file"),
        ("BENCHSITE_JARS", "/nowhere", "BENCHSITE_JARS names no folder"),
        ("YCSB_HOME", "/nowhere", "no bin/ycsb.sh"),
        ("NOTHING", "", "Set YCSB_HOME"),
        ("EMPTY_DATABASE", "", "Set EMPTY_DATABASE"),
    ],
)
def test_it_stops_where_the_environment_lacks_something(tmp_path, name, value, says):
    folder = unpacked(as_text(a_file()), tmp_path)
    environment = {"PATH": "/usr/bin:/bin", "EMPTY_DATABASE": "true", "HOST": "db", name: value}
    if name == "EMPTY_DATABASE":
        environment["BENCHSITE_JARS"] = str(tmp_path)
    done = subprocess.run(["./client-1.sh", "all"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and says in done.stderr
    assert not list(tmp_path.rglob("pwned*")) and not list((folder / "outputs").glob("*.txt"))


def test_its_scripts_know_their_cells(tmp_path):
    folder = unpacked(as_text(a_file()), tmp_path)
    for words in ([], ["nothing"], ["0001"]):
        done = subprocess.run(["./client-1.sh", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 2 and ("no cell" in done.stderr or "Say what to run" in done.stderr)


@pytest.mark.parametrize("name", ["two\nlines", "\u202egnp.exe", "nul\0", "x" * 200])
def test_it_takes_no_name_that_could_pass_for_something_else(name):
    with pytest.raises(PlanRefused, match="must be one line"):
        read_plan(as_text(a_file(name=name)))


def test_it_refuses_a_plan_that_cannot_be_shared_out():
    file = a_file(generators=generators(3))
    with pytest.raises(PlanRefused, match="2 threads cannot be shared out"):
        zipped(as_text(file))
    twice = a_file(overrides=[Override(match=Cells(), set=Changes(threads=4))])
    with pytest.raises(PlanRefused, match="planned twice"):
        zipped(as_text(twice))


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
    resets=st.fixed_dictionaries({}, optional={"rung": st.sampled_from(["keep", "restart", "reload"])}).map(
        lambda resets: PlanResets(**resets)
    ),
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
    names = [cell.name for station in stations_of(again) for cell in station.cells]
    assert len(set(names)) == len(names) == len(expand(planned(file)).runs)

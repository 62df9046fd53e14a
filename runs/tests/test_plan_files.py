"""A matrix as one plan file: what stands in it, strictly read, and the same again after every way round."""

import pytest

from benchsite.accounts.models import Team
from runs.checks.team_thresholds import replace_threshold
from runs.models import Database, Matrix, Workload
from runs.plans import PlanError, expand, stored_plan
from runs.plans.files.plan import PlanRefused, planned
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import as_text, read_plan
from runs.plans.files.plan_import import import_plan
from runs.tests.factories import make_cluster, make_database, make_machine, make_team
from runs.tests.planning_world import a_matrix, chosen_elsewhere, chosen_for

pytestmark = pytest.mark.django_db


def get_runs(plan):
    """What the runs of a plan are, whatever their rows are called."""
    return [
        (run.name, run.phase, run.threads, run.target_ops_s, run.repeat, run.properties, len(run.generators), run.needs)
        for run in expand(plan).runs
    ]


def test_export_after_import_in_the_same_team_is_identical():
    matrix = a_matrix()
    text = export_plan(matrix)
    again = import_plan(matrix.team, read_plan(text), chosen_for(read_plan(text), matrix), None)
    assert export_plan(again) == text
    assert get_runs(stored_plan(again)) == get_runs(stored_plan(matrix))
    assert Database.objects.count() == 2 and Workload.objects.count() == 2  # Used again, not made twice.
    assert again.submitted_at is None


def test_it_is_the_same_text_after_an_import_by_another_team():
    text = export_plan(a_matrix())
    file, team = read_plan(text), make_team()
    again = import_plan(team, file, chosen_elsewhere(file, team), None)
    assert export_plan(again) == text
    assert get_runs(stored_plan(again)) == get_runs(planned(file))
    assert {database.team for database in Database.objects.filter(entries__matrix=again)} == {team}


def test_it_names_no_machine_no_address_and_no_secret():
    team = make_team()
    cluster = make_cluster(
        team=team, machines=[make_machine(name="db7.internal")], name="rack-12", provisioner="external"
    )
    node = cluster.nodes.get()
    node.address = "10.9.8.7:6380"
    node.save()
    properties = {"redis.host": "10.9.8.7", "redis.port": "6380", "redis.password": "hunter2", "redis.database": "3"}
    database = make_database(team=team, cluster=cluster, name="Cache", binding_properties=properties)
    matrix = a_matrix(team)
    matrix.entries.all().delete()
    matrix.entries.create(database=database, mode="always")
    text = export_plan(matrix)
    for hidden in (
        "10.9.8.7",
        "6380",
        "hunter2",
        "db7",
        "rack-12",
        *(load_generator.name for load_generator in matrix.load_generators.all()),
    ):
        assert hidden not in text
    database_read = read_plan(text).databases["database-1"]
    assert database_read.secrets == ["redis.password"]
    assert database_read.binding_properties == {"redis.database": "3"}


def test_import_asks_for_secrets_before_it_stores_anything():
    text = export_plan(a_matrix()).replace("secrets = []", 'secrets = [\n    "redis.password",\n]', 1)
    file, team = read_plan(text), make_team()
    chosen = chosen_elsewhere(file, team)
    before = Database.objects.count(), Matrix.objects.count()
    with pytest.raises(PlanError, match=r"fill in redis\.password again"):
        import_plan(team, file, chosen, None)
    assert (Database.objects.count(), Matrix.objects.count()) == before
    role = next(role for role, database in file.databases.items() if database.secrets)
    secrets = {role: {"redis.password": "s3"}}
    again = import_plan(team, file, type(chosen)(chosen.clusters, chosen.generators, secrets), None)
    properties = again.entries.values_list("database__binding_properties", flat=True)
    assert any(values.get("redis.password") == "s3" for values in properties)
    assert "s3" not in export_plan(again) and export_plan(again) == text


def test_it_says_which_thresholds_judged(team: Team, user):
    matrix = a_matrix(team)
    replace_threshold(team, user, "errors_warn", purpose="smoke", value=0.005, reason="a flaky switch")
    assert read_plan(export_plan(matrix)).thresholds == {"errors_warn": 0.005}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("repeats = 2", "repeets = 2", r"line [0-9]+, matrix: 'repeets' is not known here\. Did you mean 'repeats'"),
        ("repeats = 2", "repeats = 2\nrepeets = 2", "line [0-9]+, matrix: 'repeets' is not known .*'repeats'"),
        ("repeats = 2", "repeats = 51", "line [0-9]+, matrix: repeats must be a whole number from 1 to 50"),
        ("repeats = 2", "repeats = true", "repeats must be a whole number"),
        ("version = 2", "version = 3", "line .*version 3 defines what it names: apply it"),
        ("version = 2", "version = 4", "line .*version 4 is not known here"),
        ('format = "benchsite-plan"', 'format = "other"', "another kind of file"),
        ('mode = "always"', 'mode = "allways"', "Did you mean 'always'"),
        ('database = "database-2"', 'database = "database-9"', "Did you mean 'database-"),
        ('maxmemory = "1GB"', 'maxmemmory = "1GB"', "Did you mean 'maxmemory'"),
        ('maxmemory = "1GB"', 'maxmemory = "1GB"\nrequirepass = "x"', "'requirepass' is not known here"),
        ('recordcount = "2000"', 'recordcount = "2000"\nexporter = "a.Class"', "exporter"),
        ("[matrix]", "[matrix", "no TOML"),
        ("[matrix]", "[matrix]\nseed = " + "9" * 5_000, "no TOML"),
        ("seed = 1", "seed = -1", "seed must be"),
        ("8,\n", '"8",\n', "rungs must be"),
    ],
)  # fmt: skip
def test_it_refuses_what_is_not_a_plan_and_says_where(old, new, says):
    text = export_plan(a_matrix())
    assert old in text
    with pytest.raises(PlanRefused, match=says):
        read_plan(text.replace(old, new, 1))


def test_warm_up_of_version_1_was_in_seconds():
    text = export_plan(a_matrix()).replace("version = 2", "version = 1")
    stated = text.replace('recordcount = "2000"', 'recordcount = "2000"\nwarmupexecutiontime = "60"', 1)

    warm_ups = [workload.properties.get("warmup.duration_ms") for workload in read_plan(stated).workloads.values()]

    assert "60000" in warm_ups
    with pytest.raises(PlanRefused, match="=60 for 60 ms"):
        read_plan(stated.replace("version = 1", "version = 2"))


@pytest.mark.parametrize("tables", ["workloads = 1", "workloads = {a = 2}", "overrides = [3]"])
def test_version_1_of_another_form_is_refused(tables):
    with pytest.raises(PlanRefused):
        read_plan(f'format = "benchsite-plan"\nversion = 1\n{tables}')


def test_it_refuses_names_of_several_lines_and_files_without_end():
    text = export_plan(a_matrix())
    with pytest.raises(PlanRefused, match="one line"):
        read_plan(text.replace('name = "Redis 7"', 'name = "Redis\\n7"'))
    with pytest.raises(PlanRefused, match="at most"):
        read_plan(text + "#" * 1_000_000)
    with pytest.raises(PlanRefused):
        read_plan("a = " + "[" * 5_000)
    with pytest.raises(PlanRefused):
        read_plan("")


def test_it_says_the_same_whenever_it_is_written():
    text = export_plan(a_matrix())
    assert as_text(read_plan(text)) == text


def test_reads_plans_of_studies_of_earlier_releases(team):
    text = export_plan(a_matrix(team))

    earlier = (
        f'{text}\n[study]\nstudy = "vari-2013"\nscale = "small"\ndeviations = ["Nodes: 4 in the study; here 1."]\n'
    )

    assert as_text(read_plan(earlier)) == text

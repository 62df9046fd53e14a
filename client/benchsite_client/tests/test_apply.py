"""`benchsite apply`: a file becomes what it describes, after its differences were shown; nothing half done."""

import json
import os
import pty

import pytest

from benchsite.accounts.models import Role
from benchsite_client.tests.installed import installed, packages
from runs.catalog import load_catalog
from runs.models import Matrix, Run, Workload
from runs.tests.factories import make_load_generator, make_user
from runs.tests.programs import get_token
from runs.tests.world import make_world

__all__ = ["installed", "packages"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SCOPES = ("runs:read", "databases:write", "machines:write", "matrices:run")
FILE = """\
format = "benchsite-plan"
version = 3

[workloads."Half reads"]
short_name = "A"
properties = { recordcount = 1000, readproportion = 0.5, updateproportion = 0.5 }
"""
PLAN = """
[matrix]
name = "nightly"
entries = [{ database = "Redis", mode = "always" }]
workloads = ["Half reads"]
rungs = [2, 8]
repeats = 1
warmup_s = 1
measure_s = 10
load_generators = ["load-1"]
"""


@pytest.fixture
def signed_in(installed, live_server, team):
    user = make_user(team=team, role=Role.ADMIN, username="ada", is_staff=True)
    world = make_world(team, name="Redis")
    world.matrix.name = "other"
    world.matrix.save()
    make_load_generator(
        name="load-1", bindings={system.binding.name: "digest" for system in load_catalog().systems.values()}
    )
    installed.environment = {"BENCHSITE_URL": live_server.url, "BENCHSITE_TOKEN": get_token(team, user, *SCOPES)}
    write(installed, FILE)
    return installed


def write(client, text: str) -> None:
    (client.home / "site.toml").write_text(text)


def count_new() -> int:
    return Workload.objects.filter(name="Half reads").count()


def test_shows_what_differs_and_changes_it_once(signed_in):
    code, shown, _ = signed_in.run("apply", "site.toml", "--dry-run")
    assert code == 0 and "create workload Half reads\n" in shown and count_new() == 0

    code, printed, complaints = signed_in.run("apply", "site.toml")
    assert (code, complaints) == (0, "") and printed.startswith(shown) and printed.endswith("1 changed.\n")
    row = Workload.objects.get(name="Half reads")

    assert signed_in.run("apply", "site.toml") == (0, "1 unchanged\n", "")
    write(signed_in, FILE.replace("1000", "2000"))
    code, printed, _ = signed_in.run("apply", "site.toml")
    assert code == 0 and 'change workload Half reads\n  properties recordcount: "1000" -> "2000"\n' in printed
    row.refresh_from_db()
    assert row.properties["recordcount"] == "2000"


def test_changes_of_others_stay_unless_overwritten(signed_in):
    signed_in.run("apply", "site.toml")
    row = Workload.objects.get(name="Half reads")
    row.properties = {**row.properties, "recordcount": "7000"}
    row.save()
    write(signed_in, FILE.replace("1000", "2000"))

    code, printed, complaints = signed_in.run("apply", "site.toml")

    assert code == 2 and '"7000" -> "2000" (changed elsewhere; the last apply set "1000")' in printed
    assert "--overwrite" in complaints and complaints.count("\n") == 1
    row.refresh_from_db()
    assert row.properties["recordcount"] == "7000"
    assert signed_in.run("apply", "site.toml", "--overwrite")[0] == 0
    row.refresh_from_db()
    assert row.properties["recordcount"] == "2000"


def test_queues_the_plan_once_and_again(signed_in):
    write(signed_in, FILE + PLAN)

    code, printed, complaints = signed_in.run("apply", "site.toml", "--run", "new")

    queued = Run.objects.filter(matrix__name="nightly", status="queued").count()
    assert (code, complaints) == (0, "") and "nightly is queued: http" in printed and queued > 0
    assert signed_in.run("apply", "site.toml", "--run", "new")[0] == 0
    assert Run.objects.filter(matrix__name="nightly").count() == queued
    code, _, complaints = signed_in.run("run", "nightly", "--again")
    assert (code, complaints) == (0, "")
    assert Matrix.objects.filter(name="nightly").count() == 2
    assert Run.objects.filter(matrix__name="nightly").count() == 2 * queued


@pytest.mark.parametrize(("text", "message"), [
    ("workloads = 3 3\n", "HTTP 422"),
    (FILE + PLAN.replace('"Redis"', '"Rediss"'), "Rediss"),
    (FILE.replace("readproportion", "readproporton"), "readproporton"),
], ids=("no TOML", "unknown database", "unknown property"))  # fmt: skip
def test_wrong_file_changes_nothing(signed_in, text, message):
    write(signed_in, text)

    code, printed, complaints = signed_in.run("apply", "site.toml")

    assert (code, printed) == (2, "") and message in complaints, complaints
    assert count_new() == 0


@pytest.mark.parametrize(("arguments", "message"), [
    (("nothing.toml",), "nothing.toml cannot be read: No such file or directory."),
    (("site.toml", "--secrets", "secrets.json"), "secrets.json cannot be read: it is no JSON object."),
])  # fmt: skip
def test_unreadable_files_are_one_sentence(signed_in, arguments, message):
    (signed_in.home / "secrets.json").write_text('{"Redis": {"redis.password": "hush"')

    code, _, complaints = signed_in.run("apply", *arguments)

    assert (code, complaints) == (2, f"benchsite: {message}\n")
    assert count_new() == 0


def test_asks_in_a_terminal(signed_in):
    for reply, created in ((b"n\n", 0), (b"y\n", 1)):
        ours, theirs = pty.openpty()
        process = signed_in.start("apply", "site.toml", stdin=theirs)
        os.write(ours, reply)
        printed, complaints = process.communicate(timeout=60)
        os.close(ours)
        os.close(theirs)

        assert process.returncode == 0 and "create workload Half reads" in printed
        assert count_new() == created, complaints


def test_json_is_the_answer(signed_in):
    code, printed, _ = signed_in.run("apply", "site.toml", "--json")

    assert code == 0 and count_new() == 1
    assert [change["action"] for change in json.loads(printed)["changes"]] == ["create"]

"""The second page of Benchmark my server, without a server: its check has ended."""

import time
import uuid

import msgspec
import pytest
from django.core.cache import cache
from django.urls import reverse

from conftest import signed_in
from runs.catalog import load_catalog
from runs.models import Database, Provisioner, Run
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_user
from workers.generator.host_identity import host_key
from workers.probe import check_jobs
from workers.probe.server_checks import Progress, TargetCheck, TargetChecks, check_target
from workers.provision.deadline import Deadline

pytestmark = pytest.mark.django_db
LISTENERS = "workers.provision.listeners."


@pytest.fixture
def cluster(team, monkeypatch):
    """Of a server beside Benchsite, of which nothing tells which process it is."""
    monkeypatch.setattr(f"{LISTENERS}_find_candidates", lambda *node: [])
    machine = make_machine(host_key=host_key())
    cluster = make_cluster(team=team, provisioner=Provisioner.EXTERNAL, machines=[machine])
    cluster.nodes.update(address="127.0.0.1:6390")
    return cluster


@pytest.fixture
def address(team, cluster):
    database = make_database(team=team, cluster=cluster)
    passed = TargetCheck("modes", "pass", "off")
    target = TargetChecks((passed,), version="7", modes={"off": "off", "always": "always"}, may_write=True)
    check_jobs._write(team, database.pk, Progress(until=time.time() + 60, target=target, saved=str(database.pk)))
    return reverse("own-server-first", args=[database.pk])


@pytest.fixture
def operator(team):
    return signed_in(make_user(team=team, role="admin", is_staff=True))


def test_without_programs_there_is_no_question(operator, address, monkeypatch):
    monkeypatch.setattr(f"{LISTENERS}_list_processes_of_others", list)
    page = " ".join(operator.get(address).content.decode().split())
    assert "Which program" not in page and "This one" not in page
    assert "No process of the server is visible.</strong> Nothing tells Benchsite" in page
    assert "cannot be told from that of other programs, so that interference (V25) is not assessed" in page


def test_the_answer_keeps_what_is_typed(operator, address, cluster, monkeypatch):
    monkeypatch.setattr(f"{LISTENERS}_list_processes_of_others", lambda: [(1, "a-server")])
    typed = {"mode": "off", "workload": "C", "records": "777"}

    question = operator.get(address).content.decode()
    refused = operator.post(address, {"choose": "1", "program": "another", **typed})
    page = operator.post(address, {"choose": "1", "program": "a-server", **typed})

    assert 'hx-include="#first"' in question and 'id="first"' in question
    assert "Nothing was changed" in refused.content.decode()
    assert cluster.nodes.get().program == "a-server"
    for response in (refused, page):
        form = response.context["form"]
        assert not form.errors and {name: form[name].value() for name in typed} == typed


def test_an_answer_reads_the_sockets_once(operator, address, monkeypatch):
    listed: list[str] = []
    monkeypatch.setattr("psutil.net_connections", lambda kind: listed.append(kind) or [])
    monkeypatch.setattr(f"{LISTENERS}_find_candidates", lambda addresses, port, list_connections: list_connections())
    operator.post(address, {"choose": "1", "program": "a-server"})
    assert listed == ["tcp"]


def test_check_of_another_release_is_none(team, address):
    database = Database.objects.get()
    progress = check_jobs.read_check(team, database.pk)
    stored = msgspec.to_builtins(progress)
    stored["target"]["connections"] = [3, 100]
    cache.set(check_jobs._key(team, database.pk), stored)
    assert progress and check_jobs.read_check(team, database.pk) is None


def test_table_once_allowed_is_allowed_when_checked_again(team, operator, address, cluster, monkeypatch):
    """At that address, whatever the check between them came to."""
    database = Database.objects.get()
    target = TargetChecks((), version="7", modes={"off": "off"}, data={"tables": 3})
    check_jobs._write(team, database.pk, Progress(until=time.time() + 60, target=target))
    allowed = []
    monkeypatch.setattr(
        check_jobs,
        "check_target",
        lambda *args, **kwargs: allowed.append(kwargs.get("may_make_table")) or check_jobs.FAULT,
    )

    def check(press):
        checks = len(allowed)
        press()
        while len(allowed) == checks or not check_jobs.read_check(team, database.pk).target:
            time.sleep(0.05)
        return allowed[-1]

    assert check(lambda: operator.post(address, {"confirm": "1"}))
    assert check(lambda: operator.get(f"{address}?again=1")) and check(lambda: operator.get(f"{address}?again=1"))
    assert not cluster.data_confirmations.exists(), "for no other data"
    cluster.nodes.update(address="127.0.0.1:6391")
    assert not check(lambda: operator.get(f"{address}?again=1")), "another server"


def test_failed_check_says_failed_and_frees_the_button(team, operator):
    check = uuid.uuid4()
    target = TargetChecks((TargetCheck("reachable", "reject", "Connection refused"),))
    cache.set(check_jobs._key(team, check), msgspec.to_builtins(Progress(until=time.time(), step=1, target=target)))
    panel = operator.get(reverse("server-check", args=[check]), headers={"HX-Request": "true"}).content.decode()
    assert ">failed</span>" in panel and "reject" not in panel
    button = panel.partition('id="check-server"')[2].partition("</button>")[0]
    assert "hx-swap-oob" in button and "disabled" not in button


def test_pages_describe_the_window_alike(operator, address):
    window = "at least 10 s measured after 2 s to 12 s of warm-up"
    system = load_catalog().system("redis")
    make_load_generator(bindings={system.binding.name: "1" * 64})

    matrix = operator.post(address, {"mode": "off", "workload": "C", "records": "777"}).url

    run = Run.objects.filter(phase="measure").first()
    pages = [operator.get(url).content.decode() for url in (address, matrix, reverse("run", args=[run.pk]))]
    assert [window in " ".join(page.split()) for page in pages] == [True] * 3


def test_mistyped_address_is_said_in_plain_words():
    """No network that an operator could allow has it."""
    target = check_target(load_catalog().system("redis"), ["10.0.0.999:6379"], {}, deadline=Deadline(60))
    [check] = target.checks
    assert "10.0.0.999" in check.detail and "Errno" not in check.detail and not check.may_be_allowed

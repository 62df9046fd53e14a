"""What a person typed about an own server stays with it: no page, file, log, message or further table repeats it."""

import re
from collections import deque
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from benchsite.accounts.models import Role
from benchsite.tests.live_site import LiveSite, shared_site as site
from benchsite.tests.searching import files_with, tables_with
from benchsite.tests.test_external_clients import external_database, redis_server, submitted
from runs.models import Artifact, Matrix, Run
from runs.models.run import Status
from runs.results.artifacts import open_artifact
from runs.tests.factories import make_team, make_user
from runs.tests.importing import summary
from runs.tests.programs import Program
from workers.provision.servers import Server

__all__ = ["redis_server", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
# New ones each time: the test database keeps what earlier tests wrote in its log.
MARKS = WRONG, PRIMARY, USER, PHRASE = [f"Qx7{uuid4().hex}" for _ in range(4)]
UPLOADED = {
    "azurecosmos.primaryKey": PRIMARY,
    "es.setting.hosts": f"https://elastic:{USER}@127.0.0.1:9200",
    "some.unknown.passphrase": PHRASE,
}
MAX_PAGES = 150
LINK = re.compile(r'(?:href|data-src|src)="(/[^"#]*)')
# They end the session, or belong to the machine.
PASSED_OVER = ("/sign-out", "/static/", "/help/")


@pytest.fixture(scope="module", autouse=True)
def loopback() -> Iterator[None]:
    """The site that starts behind this may benchmark servers of this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
        yield


def walk(client: Client, first: list[str]) -> dict[str, str]:
    """The texts of what the pages link to, by address; of many addresses that differ in their query the first ones."""
    queue, texts, variants = deque(first), dict[str, str](), dict[str, int]()
    while queue and len(texts) < MAX_PAGES:
        address = queue.popleft().replace("&amp;", "&")
        path = address.partition("?")[0]
        variants[path] = variants.get(path, 0) + 1
        if address in texts or path.startswith(PASSED_OVER) or variants[path] > 2:
            continue
        answer = client.get(address)
        content = b"".join(answer) if answer.streaming else answer.content
        texts[address] = content.decode(errors="replace")
        queue.extend(LINK.findall(texts[address]))
    return texts


def test_what_was_typed_about_a_server_is_repeated_nowhere(site: LiveSite, redis_server: Server):
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN)
    password = redis_server.password
    marks = [*MARKS, password]
    store = external_database(team, redis_server.port, "redis", **{"redis.password": password})
    closed = external_database(team, redis_server.port, "redis", **{"redis.password": WRONG})

    program = Program(team, user)
    command = " ".join(f"-p {name}={value}" for name, value in UPLOADED.items())
    output = f"Command line: -t -db site.ycsb.db.RedisClient {command}\n".encode() + summary()
    answer = program.post(("out.txt", output))

    assert answer.status_code == 201, answer.content
    measured = site.until_ended(submitted(store, "off", user, [2]))
    refused = site.until_ended(submitted(closed, "off", user, [2]))

    assert {run.status for run in measured} == {Status.SUCCEEDED}
    assert refused[0].status == Status.FAILED and "invalid username-password" in refused[0].reason_detail
    assert tables_with(marks) == []
    assert not files_with(marks, settings.VAR_DIR)
    artifacts = Artifact.objects.filter(run__team=team)
    assert len({artifact.name for artifact in artifacts}) > 5
    for artifact in artifacts:
        text = open_artifact(artifact).decode(errors="replace")
        assert not [mark for mark in marks if mark in text], artifact.name

    browser = Client()
    browser.force_login(user)
    runs = Run.objects.filter(team=team)
    matrices = Matrix.objects.filter(team=team)
    pages = walk(browser, ["/", *(f"/runs/{run.pk}/" for run in runs), *(f"/matrices/{each.pk}/" for each in matrices)])
    answers = [program.get(f"/api/v1/runs/{run.pk}") for run in runs]
    answers += [program.get(f"/api/v1/matrices/{each.pk}") for each in matrices]
    pages |= {f"API {place}": answer.content.decode() for place, answer in enumerate(answers)}
    assert len(pages) > 60
    assert [address for address, text in pages.items() if any(mark in text for mark in marks)] == []

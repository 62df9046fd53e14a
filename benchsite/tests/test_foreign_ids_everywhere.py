"""Every address of the site with whatever names something of another team: nothing is there, and nothing changes.

Addresses come from the URL configuration, names in queries and forms from the code, so what is added is walked too. A
parameter of an address that stands in no table below fails the walk, and so does a model without a row of the other
team.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.forms import BaseForm
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from benchsite.accounts import membership, tokens
from benchsite.accounts.models import Delivery, Notice, Preference, Role, User, Webhook
from benchsite.notifications.email_verification import get_token
from reports.compare.selection import NAMES
from reports.models import (
    ChangePoint,
    CommitLook,
    History,
    HistoryLook,
    HistoryNote,
    Report,
    ReportPicture,
    StoredCurve,
)
from reports.published.drafts import Draft
from reports.tests.frozen import published
from reports.trends.badges import make_badge
from reports.trends.baselines import set_baseline
from runs.catalog import load_catalog
from runs.catalog.data_confirmations import target_rows
from runs.models import (
    AppliedDefinition,
    Cluster,
    Database,
    DataConfirmation,
    Deletion,
    Deployment,
    Finding,
    Machine,
    Matrix,
    Node,
    Run,
    RunEvent,
    SearchDecision,
    Series,
    ThresholdOverride,
    UploadedFile,
    UploadKey,
)
from runs.models.schedule import Ending, Occasion
from runs.plans.files.plan_export import export_plan
from runs.results.artifacts import store
from runs.tests.factories import make_client_run, make_run, make_schedule, make_team, make_user
from runs.tests.test_own_builds_in_plans import BASE, THIS
from runs.tests.test_searches import SEARCH
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
APPS = ("teams", "runs", "workers", "reports")
# Neither API takes a session: test_every_endpoint_refuses.py and test_generator_api.py walk them.
ELSEWHERE = ("api/", "generator-api/", "admin/", "sso/", "sign-out/")
NOT_THERE = {403, 404, 405, 410}
MARK, SHA256 = "theirs", hashlib.sha256(b"theirs").hexdigest()
# Of no team: other rows name them, or the whole site has them.
SITE_WIDE = {
    "teams.Team", "teams.User", "teams.SignInLink", "teams.Counter", "runs.Conductor", "runs.Node", "runs.MatrixEntry",
    "workers.Lease", "workers.EnrolmentCode", "workers.GeneratorCredential", "workers.NodeProcess",
}  # fmt: skip

# Parameters of addresses, with the part of the address before them. These name rows:
ROWS = {
    "sessions/<pk>": "teams.SignedIn", "members/<pk>": "teams.Membership", "invitations/<pk>": "teams.Invitation",
    "tokens/<pk>": "teams.ApiToken", "webhooks/<pk>": "teams.Webhook", "machines/<pk>": "runs.Machine",
    "clusters/<pk>": "runs.Cluster", "databases/<pk>": "runs.Database", "workloads/<pk>": "runs.Workload",
    "matrices/<pk>": "runs.Matrix", "schedules/<pk>": "runs.Schedule",
    "runs/<pk>": "runs.Run", "import/<pk>": "runs.Upload", "artifacts/<pk>": "runs.Artifact",
    "reports/<pk>": "reports.Report", "sweeps/<pk>": "runs.Sweep",
    "baselines/<pk>": "reports.Baseline", "own-server/<pk>": "runs.Database", "of/<pk>": "runs.Matrix",
}  # fmt: skip
# These are texts of a team. Links are open to whoever has them: these have ended, or belong to a private report.
TEXTS = {
    "history/<config_key>", "histories/<config_key>", "badges/<token>", "public/<slug>",
    "r/<token>", "invited/<token>", "confirm/<token>",
}  # fmt: skip
# These are the same for all teams; some stand behind several parts.
SAME_FOR_ALL = {
    "help/<name>": "api", "systems/<slug>": "redis", "thresholds/<name>": "steady-share",
    "publish/<digest>": "x", "publish/<name>": "ceilings", "r/<number>": "1",
    "figures/<name>": "ceilings", "r/<name>": "ceilings", "<kind>": "figures",
    "<form>": "json", "once/<token>": "x", "modes/<base>": "always", "modes/<mode>": "always-stated",
    "checks/<check>": "00000000-0000-0000-0000-000000000000",
}  # fmt: skip


def addresses(patterns=None, prefix="") -> Iterator[tuple[str, dict[int, str]]]:
    """Every route as a format, and what its fields are: ("runs/{0}/cancel/", {0: "runs/<pk>"})."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(entry.pattern)
        if route.startswith(ELSEWHERE):
            continue
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            fields: dict[int, str] = {}
            segment = ""

            def field(match, fields=fields) -> str:
                nonlocal segment
                segment = (re.findall(r"[\w-]+(?=/)", match[1]) or [segment])[-1]
                fields[len(fields)] = f"{segment}/<{match[2]}>"
                return f"{match[1]}{{{len(fields) - 1}}}"

            yield re.sub(r"([^<>]*)<(?:\w+:)?(\w+)>", field, route).replace("\\", ""), fields


def fixed(parameter: str) -> str | None:
    """The value of a parameter that is the same for all teams."""
    return SAME_FOR_ALL.get(parameter) or SAME_FOR_ALL.get(parameter.partition("/")[2])


def everything_of_a_team() -> SimpleNamespace:
    """A row of every model, and the texts that stand in addresses of the team."""
    team = make_team(name=MARK, slug=MARK)
    admin = make_user(team=team, role=Role.ADMIN, username=MARK, email="theirs@bench.example")
    world = make_world(team, name=MARK)
    run, now = make_run(world.sweep, threads=64, status="queued"), timezone.now()
    RunEvent.objects.create(run=run, kind="note", text=MARK)
    make_client_run(run, generator=world.generator)
    store(world.run, world.artifact.kind, world.artifact.name, MARK.encode())
    tokens.make(team, admin, name=MARK, scopes=["runs:read"])
    links = {"invited/<token>": membership.invite(team, admin, role=Role.VIEWER)}
    for invitation in membership.open_invitations(team):
        membership.withdraw(invitation, admin)
    working = {"invited/<token>": membership.invite(team, admin, role=Role.VIEWER), "confirm/<token>": get_token(admin)}
    report = published(team, access=Report.Access.PRIVATE, title=MARK, plan=export_plan(world.matrix))
    links["r/<token>"] = report.links.get().token
    links["confirm/<token>"] = f"{admin.pk}:1:x"
    ReportPicture.objects.create(revision=report.revisions.get(), name="ceilings", png=b"x", width=1, height=1)
    measured = Run.objects.filter(team=team, measurement_sets__isnull=False).first()
    assert measured is not None
    Report.objects.update(draft=Draft(query=f"v=1&matrix={measured.matrix_id}").as_json())
    history = History.objects.filter(team=team).first()
    assert history is not None
    links["history/<config_key>"] = links["histories/<config_key>"] = history.config_key
    HistoryLook.objects.create(history=history, runs=1, last_at=now)
    CommitLook.objects.create(team=team, config_key=history.config_key, commit="c", runs=1, last_at=now)
    ChangePoint.objects.create(team=team, config_key=history.config_key, metric="throughput", run=measured, state="new")
    HistoryNote.objects.create(team=team, at=now, text=MARK)
    set_baseline(team, admin, MARK, [measured], chosen=MARK)
    links["badges/<token>"] = make_badge(team, admin, measured, label=MARK).token
    links["public/<slug>"] = team.slug
    webhook = Webhook.objects.create(team=team, name=MARK, url="https://a.example", kinds=["test"])
    Delivery.objects.create(notice=Notice.objects.create(team=team, kind="test", subject=MARK), webhook=webhook)
    Preference.objects.create(membership=admin.memberships.get(), kind="regression")
    schedule = make_schedule(team, name=MARK)
    Occasion.objects.create(schedule=schedule, due_at=now, outcome="failed")
    Ending.objects.create(matrix=world.matrix)
    ThresholdOverride.objects.create(team=team, threshold="x", value=1, reason=MARK)
    cluster = Cluster.objects.filter(team=team).latest("pk")
    Node.objects.filter(cluster__team=team).update(address="192.0.2.1:6379")
    Cluster.objects.filter(team=team).update(provisioner="external")
    target = target_rows(Cluster.objects.get(pk=cluster.pk))[0].target
    DataConfirmation.objects.create(cluster=cluster, target=target, confirmed_by=admin)
    Deployment.objects.create(cluster=world.cluster, database=world.database, matrix=world.matrix, mode="always")
    SearchDecision.objects.create(sweep=world.sweep, number=1, rule="probe", state="going", sentence=MARK)
    UploadedFile.objects.create(upload=world.upload, position=0, name=MARK, size=1)
    UploadKey.objects.create(team=team, key=MARK, fingerprint="0" * 64, upload=world.upload, status=201)
    Finding.objects.create(measurement_set=measured.measurement_sets.get(), check_id="V05", severity="warn")
    Series.objects.create(run=measured, operation=MARK, points=1, data=b"x")
    matrix = Matrix.objects.filter(team=team).latest("pk")
    Matrix.objects.filter(pk=matrix.pk).update(search=SEARCH, builds=[THIS, BASE])
    Deletion.objects.create(team=team, name=MARK, kind="matrix", sha256=SHA256)
    AppliedDefinition.objects.create(team=team, kind="database", name=MARK, values={})
    record = load_catalog().system("redis").mode("always").durability.model_dump()
    own = {"base": "always", "name": MARK, "durability": record, "server_settings": {}, "client_properties": {}}
    Database.objects.filter(team=team).update(own_modes={"always-stated": own})
    Client().force_login(admin)
    return SimpleNamespace(team=team, links=links, working=working, query=urlencode({"target": target}))


def models():
    """All but what pages store of what they compute."""
    every = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    return [model for model in every if model is not StoredCurve]


def keys_of_all() -> dict[str, list[object]]:
    """The keys of every model's rows; a machine without a team is the whole site's."""
    rows = {
        model: model._default_manager.filter(teams__isnull=False) if model is Machine else model._default_manager
        for model in models()
    }
    return {model._meta.label: list(rows[model].order_by("pk").values_list("pk", flat=True)) for model in models()}


def versions() -> dict[tuple[str, str], tuple[str, str]]:
    """The version of every row, by model and key."""
    state: dict[tuple[str, str], tuple[str, str]] = {}
    with connection.cursor() as cursor:
        for model in models():
            cursor.execute(
                f'SELECT {model._meta.pk.column}::text, ctid::text, xmin::text FROM "{model._meta.db_table}"'
            )
            state |= {(model._meta.label, key): (place, change) for key, place, change in cursor.fetchall()}
    return state


@pytest.fixture
def ours():
    me = make_user(team=make_team(name="Ours"), role=Role.ADMIN, username="ours")
    return SimpleNamespace(me=me, world=make_world(me.memberships.get().team, name="ours"))


@pytest.fixture
def theirs(ours):
    """Another team with its `rows`; `keys` has the newest key of each model, `second` the one before it."""
    own = keys_of_all()
    other = everything_of_a_team()
    foreign = {label: [key for key in keys if key not in own[label]] for label, keys in keys_of_all().items()}
    missing = {label for label, keys in foreign.items() if not keys} - SITE_WIDE
    assert not missing, "make a row of these, so that their keys are walked"
    other.keys = {label: keys[-1] for label, keys in foreign.items() if keys}
    other.second = {label: keys[-2:][0] for label, keys in foreign.items() if keys}
    other.rows = {(label, str(key)) for label, keys in foreign.items() for key in keys}
    return other


@pytest.fixture
def visitor(ours):
    client = Client()
    client.force_login(ours.me)
    return client


def test_every_parameter_is_classified():
    parameters = {parameter for _, fields in addresses() for parameter in fields.values()}
    assert {parameter for parameter in parameters if not fixed(parameter)} == ROWS.keys() | TEXTS
    named = {parameter.partition("/")[2] for parameter in parameters} | parameters
    assert SAME_FOR_ALL.keys() <= named


def read_values(parameter: str, other) -> list[object]:
    """What a parameter may be given; for a link also the id of what it shows, for matrices two."""
    if text := fixed(parameter):
        return [text]
    if parameter in ROWS:
        label = ROWS[parameter]
        return [other.keys[label], *([other.second[label]] if label == "runs.Matrix" else [])]
    report = [other.keys["reports.Report"]] if parameter == "r/<token>" else []
    return [other.links[parameter], *report]


def test_nothing_of_another_team_is_there(ours, theirs, visitor):
    before, requests, open_ones = versions(), 0, []
    for route, fields in addresses():
        named = [parameter for parameter in fields.values() if not fixed(parameter)]
        if not named:
            continue
        for values in product(*(read_values(parameter, theirs) for parameter in fields.values())):
            address = f"/{route.format(*values)}?{theirs.query}"
            for method in (visitor.get, visitor.post):
                response = method(address)
                requests += 1
                if response.status_code not in NOT_THERE or MARK in response.content.decode():
                    open_ones.append((method.__name__, address, response.status_code))
    assert requests > 200
    assert not open_ones, f"{len(open_ones)} of {requests}"
    assert versions() == before


def test_the_same_addresses_show_rows_of_ones_own(theirs):
    """The control of the walk: whoever owns the rows reaches something at each address, once links work and the report
    is public.
    """
    theirs.links |= theirs.working
    Report.objects.update(access=Report.Access.PUBLIC)
    User.objects.filter(username=MARK).update(is_staff=True)  # Only operators change machines and external clusters.
    owner = Client(raise_request_exception=False)  # Some rows hold no real content.
    owner.force_login(User.objects.get(username=MARK))
    unreachable = []
    for route, fields in addresses():
        if all(fixed(parameter) for parameter in fields.values()):
            continue
        statuses = set()
        for values in product(*(read_values(parameter, theirs) for parameter in fields.values())):
            for method in (owner.get, owner.post):
                with transaction.atomic():
                    response = method(f"/{route.format(*values)}?{theirs.query}")
                    response.getvalue()  # A download ends.
                    statuses.add(response.status_code)
                    transaction.set_rollback(True)
        if statuses <= NOT_THERE:
            unreachable.append((route, statuses))
    assert not unreachable, "\n".join(map(str, unreachable))


def names_in_code() -> set[str]:
    """The names that views read from queries and forms."""
    pattern = re.compile(r"""(?:GET|POST|query|data)(?:\.get(?:list)?\(|\[)"(\w+)\"""")
    names = set(NAMES)
    for package in ("benchsite", "runs", "workers", "reports"):
        for path in (Path(settings.BASE_DIR) / package).rglob("*.py"):
            if "tests" not in path.parts:
                names |= set(pattern.findall(path.read_text()))
    forms = [BaseForm]
    for form in forms:
        forms += form.__subclasses__()
        names |= set(getattr(form, "base_fields", {}))
    return names


# What values name most often.
often_named = pytest.mark.parametrize("label", ["run", pytest.param("sweep", marks=pytest.mark.long)])


def queries(theirs, label) -> Iterator[dict[str, list[str]]]:
    """Every name with what names rows of another team: the id of the model of its name, or of the model `label`; then
    the name that all of its rows and itself have.
    """
    by_name = {label.partition(".")[2].lower(): str(key) for label, key in theirs.keys.items()}
    by_name |= {f"{name}s": key for name, key in by_name.items()} | {"matrices": by_name["matrix"]}
    by_name["database"] = by_name["databases"] = theirs.keys["runs.Database"]
    names = names_in_code()
    values = {name: [str(by_name.get(name, by_name[label]))] for name in names}
    second = str(theirs.second[f"runs.{label.capitalize()}"])
    yield values | {"b": [second], "entries": [f"{by_name['database']}|always"]}
    yield {name: [MARK] for name in names}


@often_named
def test_no_query_shows_anything_of_another_team(theirs, visitor, label):
    texts = {MARK, *(str(key) for key in theirs.keys.values() if isinstance(key, UUID))}
    shown = []
    for route, fields in addresses():
        if any(not fixed(parameter) for parameter in fields.values()):
            continue
        address = "/" + route.format(*map(fixed, fields.values()))
        for query in ({}, *queries(theirs, label)):
            response = visitor.get(address, query)
            content = b"".join(response) if response.streaming else response.content
            sent = {text for values in query.values() for text in values}
            leaks = [text for text in texts - sent if text in content.decode(errors="replace")]
            if leaks or response.status_code == 500:
                shown.append((address, response.status_code, leaks))
    assert not shown


def references() -> list[tuple[str, str, object]]:
    """Which rows name which: (table and column, key of the row, key that it names)."""
    rows = []
    for model in models():
        for field in model._meta.fields:
            if field.is_relation and field.related_model in models():
                values = model._default_manager.exclude(**{field.attname: None}).values_list("pk", field.attname)
                rows += [(f"{model._meta.label}.{field.name}", pk, key) for pk, key in values]
    return rows


@often_named
def test_no_form_touches_anything_of_another_team(ours, theirs, visitor, label):
    before, known = versions(), {(where, pk) for where, pk, _ in references()}
    failures = []
    for route, fields in addresses():
        if any(not fixed(parameter) for parameter in fields.values()):
            continue
        address = "/" + route.format(*map(fixed, fields.values()))
        for form in queries(theirs, label):
            response = visitor.post(address, form)
            if response.status_code >= 500:
                failures.append((address, response.status_code))
            if not ours.me.memberships.exists() or "_auth_user_id" not in visitor.session:
                failures.append((address, "ended the membership or the session"))
    assert not failures
    after = versions()
    assert not [row for row in theirs.rows if before[row] != after.get(row)]
    keys = set(theirs.keys.values())
    assert not [row for row in references() if row[2] in keys and row[:2] not in known]

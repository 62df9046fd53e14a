"""A real browser at a site with one of everything, for tests: `from benchsite.tests.browser import chromium, site`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.urls import NoReverseMatch, reverse

from benchsite.tests.needs import need
from runs.catalog import load_catalog
from runs.models import Run
from runs.tests.factories import make_load_generator, make_run, make_user
from runs.tests.world import make_world

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

CHROMIUM = os.environ.get("BENCHSITE_CHROMIUM", "/usr/bin/chromium")
PAGES = (
    "home", "news", "own-server", "matrices", "matrix-add", "sweeps", "runs", "imports", "compare", "databases",
    "database-add", "workloads", "workload-add", "clusters", "cluster-add", "machines", "load-generators",
    "queue", "systems", "versions", "compare-pictures", "compare-numbers", "compare-points", "history", "sizing",
    "published", "notifications", "schedules", "reports", "baselines", "members", "tokens", "audit",
    "team-limits", "account", "plan-import", "harmless-properties", "networks",
)  # fmt: skip
# How a hand presses: so long, on a path of so many steps, and it moves by so many pixels meanwhile.
PRESS_MS, PATH_STEPS, DRIFT_PX = 70, 8, 3
THINGS = ("machine", "cluster", "database", "workload", "matrix", "sweep", "run")


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    if "BENCHSITE_CHROMIUM" not in os.environ:
        need("chromium")
    # Playwright's loop runs in this thread, and Django would take the tests for asynchronous views.
    with pytest.MonkeyPatch.context() as patch, playwright.sync_playwright() as engine:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        path = {"steps": PATH_STEPS}
        for kind, name, options in (
            (playwright.Locator, "click", path), (playwright.Page, "click", {}), (playwright.Mouse, "dblclick", {}),
        ):  # fmt: skip
            patch.setattr(kind, name, partialmethod(getattr(kind, name), delay=PRESS_MS, **options))
        started = engine.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()
        # Beside Playwright's loop, Django keeps its connections apart from those of the thread.
        connections.close_all()


@contextmanager
def opened_site(chromium: Any, url: str, client: Client, **others: Any) -> Iterator[SimpleNamespace]:
    """The site at `url` for the person of `client`; `open` gives a page that notes every complaint."""
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    contexts: list[Any] = []
    complaints: list[str] = []

    def new_page(**options: Any) -> Any:
        context = chromium.new_context(base_url=url, **options)
        contexts.append(context)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": url}])
        page = context.new_page()
        page.on("console", lambda note: complaints.append(note.text) if note.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
        return page

    yield SimpleNamespace(open=new_page, url=url, complaints=complaints, **others)
    for context in contexts:
        context.close()


@pytest.fixture
def site(chromium: Any, live_server: Any, team: Any) -> Iterator[SimpleNamespace]:
    """A signed-in person at a site with one of everything; `open` gives a page that notes every complaint."""
    world = make_world(team, name="Study of everything")
    for threads, throughput in ((4, 1900), (8, 3000)):
        make_run(world.sweep, threads=threads, throughput=throughput)
    bindings = {system.binding.name: "digest" for system in load_catalog().systems.values()}
    make_load_generator(name="load-1", bindings=bindings)
    client = Client()
    client.force_login(make_user(team=team, username="ada", role="admin", is_staff=True))
    with opened_site(chromium, live_server.url, client, world=world) as opened:
        yield opened


def press(page: Any, x: float, y: float, *, ms: float = PRESS_MS, drift_px: float = DRIFT_PX) -> None:
    """Press there as a hand does. Playwright's `mouse.click` jumps there and takes no time."""
    page.mouse.move(x - 80, y + 50)
    page.mouse.move(x, y, steps=PATH_STEPS)
    page.mouse.down()
    page.wait_for_timeout(ms / 2)
    page.mouse.move(x + drift_px, y)
    page.wait_for_timeout(ms / 2)
    page.mouse.up()


def touch(page: Any, x: float, y: float, *, ms: float = PRESS_MS, drift_px: float = DRIFT_PX) -> None:
    """Touch there as a finger does."""
    fingers = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]), ("touchMove", [{"x": x + drift_px, "y": y}]), ("touchEnd", []),
    ):  # fmt: skip
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(ms / 2)


def axe_findings(page: Any) -> list[str]:
    """The serious findings of axe-core. The text of a drawing is the library's, and is repeated in the table below."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    run = "context => axe.run(context, {resultTypes: ['violations']}).then(result => result.violations)"
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: "
        + "; ".join(node["html"][:160] for node in rule["nodes"][:3])
        for rule in page.evaluate(run, {"exclude": [[".main-svg"]]})
        if rule["impact"] in ("serious", "critical")
    ]


def list_scrolling_tables(page: Any) -> list[str]:
    """Captions of tables that scroll sideways, though a telephone has room for all of a row below each other."""
    captions: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".table-wrap > .table")]
        .filter((table) => table.checkVisibility() && table.parentNode.scrollWidth > table.parentNode.clientWidth)
        .map((table) => table.caption?.textContent ?? table.id)"""
    )
    return captions


def addresses(world: Any) -> list[str]:
    """Every page that a person of the team can open, with rows in it."""
    runs = list(Run.objects.filter(sweep=world.sweep).order_by("threads")[:2])
    pair = "?a={}&b={}".format(*(run.pk for run in runs)) if len(runs) == 2 else ""
    pages = [_address(name) for name in PAGES] + [_address(t, getattr(world, t).pk) for t in THINGS]
    pages += [_address("history-series", run.config_key) for run in runs[:1]]
    pages += [_address("matrix-repeat", world.matrix.pk), _address("own-mode-add", world.database.pk, "always")]
    pages += [why + pair for why in [_address("why")] if why]
    return [address for address in pages if address]


def _address(name: str, *args: object) -> str:
    """Empty where this site has no such page."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""

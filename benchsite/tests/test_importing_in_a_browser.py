"""Dropping two clients' files on the import page, in a real browser, until they are a run."""

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.test import Client

from runs.models import Run
from runs.tests.factories import make_user
from runs.tests.importing import import_folder, summary

playwright = pytest.importorskip("playwright.sync_api")
__all__ = ["import_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("import_folder")]

CHROMIUM = os.environ.get("BENCHSITE_CHROMIUM", "/usr/bin/chromium")
# What a drop from a file manager is to a page.
DROP = """([names, contents]) => {
  const files = new DataTransfer();
  names.forEach((name, i) => files.items.add(new File([contents[i]], name, {type: "text/plain"})));
  const zone = document.querySelector("[data-drop]");
  for (const type of ["dragover", "drop"])
    zone.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: files}));
}"""


@pytest.fixture
def site(live_server, team) -> Iterator[SimpleNamespace]:
    """A runner at the site, in a browser that notes every complaint."""
    client = Client()
    client.force_login(make_user(team=team, username="ada"))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    with pytest.MonkeyPatch.context() as patch, playwright.sync_playwright() as engine:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # Playwright's loop runs in this thread.
        chromium = engine.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        complaints: list[str] = []

        def new_page(**options):
            context = chromium.new_context(**options)
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
            page = context.new_page()
            page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            return page

        yield SimpleNamespace(open=new_page, url=live_server.url, complaints=complaints)
        chromium.close()


def complete(page):
    page.locator("select[name=mode]").select_option("redis:always")
    page.locator("input[name=hardware], textarea[name=hardware]").fill("one box")
    page.get_by_role("button", name="Save as uploaded runs").click()
    page.locator("text=Where it comes from").wait_for()


def test_two_clients_files_are_dropped_and_become_a_run(site):
    page = site.open()
    page.goto(f"{site.url}/import/", wait_until="networkidle")
    page.evaluate(DROP, [["client-1.txt"], [summary().decode()]])
    page.evaluate(DROP, [["client-2.txt"], [summary(p99=2000).decode()]])  # joins the first
    assert page.locator("[data-drop] li").all_inner_texts() == ["client-1.txt", "client-2.txt"]
    page.get_by_role("button", name="Read these files").click()
    page.locator("text=What was recognised").wait_for()
    assert page.locator("details h3").all_inner_texts() == ["client-1.txt", "client-2.txt"]
    assert page.locator("input[name=run-0-threads]").input_value() == "16"
    complete(page)
    assert Run.objects.get().client_runs.count() == 2
    assert not site.complaints


def test_it_works_without_javascript_on_a_small_screen(site, tmp_path):
    file = tmp_path / "summary.txt"
    file.write_bytes(summary())
    page = site.open(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page.goto(f"{site.url}/import/")
    page.set_input_files("#files", file)
    page.get_by_role("button", name="Read these files").click()
    complete(page)
    assert Run.objects.get().throughput_ops_s == 10_000


def test_too_large_files_are_refused_before_they_are_sent(site):
    page = site.open()
    page.goto(f"{site.url}/import/", wait_until="networkidle")
    page.evaluate("document.querySelector('[data-drop]').dataset.most = 10")
    page.evaluate(DROP, [["a.txt"], [summary().decode()]])
    assert "Too large together" in page.locator("#files").evaluate("input => input.validationMessage")

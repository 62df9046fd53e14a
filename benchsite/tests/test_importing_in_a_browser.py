"""Dropping two clients' files on the import page, in a real browser, until they are a run."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from benchsite.accounts.models import Team
from benchsite.tests.browser import chromium, opened_site
from runs.models import Run
from runs.tests.factories import make_user
from runs.tests.importing import import_folder, summary

__all__ = ["chromium", "import_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("import_folder")]

# What a drop from a file manager is to a page.
DROP = """([names, contents]) => {
  const files = new DataTransfer();
  names.forEach((name, i) => files.items.add(new File([contents[i]], name, {type: "text/plain"})));
  const zone = document.querySelector("[data-drop]");
  for (const type of ["dragover", "drop"])
    zone.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: files}));
}"""


@pytest.fixture
def site(chromium: object, live_server: Any, team: Team) -> Iterator[SimpleNamespace]:
    """A runner at an empty site."""
    client = Client()
    client.force_login(make_user(team=team, username="ada"))
    with opened_site(chromium, live_server.url, client) as opened:
        yield opened


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

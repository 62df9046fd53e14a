"""What arrives while something is pressed takes no press away."""

from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, Route, expect

from benchsite.tests.browser import chromium, site
from reports.tests.frozen import published

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
SETTLING_MS = 200  # for what would be drawn


def choose_system(site: SimpleNamespace, slug: str) -> tuple[Page, list[Route]]:
    """A page whose request for the fields of the system waits, as the first of the list, until it is continued."""
    page = site.open()
    page.goto("/own-server/")

    requests: list[Route] = []
    page.route("**/own-server/", lambda route: requests.append(route), times=1)
    page.get_by_label("System").select_option(slug)
    return page, requests


def test_press_counts_while_fields_are_drawn_anew(site: SimpleNamespace):
    """The press ends the typing of the address; its fields arrive before the button is released."""
    page = site.open()
    page.goto("/own-server/")
    page.get_by_label("Address").fill("postgresql://ycsb:word@127.0.0.1:1/ycsb?sslmode=require")
    button = page.get_by_role("button", name="Check the server")
    box = button.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.mouse.down()
    page.wait_for_timeout(SETTLING_MS)
    expect(page.get_by_label("Password")).to_have_value("")
    page.mouse.up()
    expect(page.get_by_role("heading", name="Checks of the server")).to_be_visible()
    expect(page.get_by_label("Address")).to_have_value("127.0.0.1:1")
    assert site.complaints == []


def test_typing_goes_on_while_fields_are_drawn_anew(site: SimpleNamespace):
    """The fields of another system arrive after the first letters of the address."""
    page, requests = choose_system(site, "postgresql")
    page.get_by_label("Address").focus()
    page.keyboard.type("10.0.0.5")
    requests[0].continue_()
    expect(page.get_by_label("Database")).to_be_visible()
    page.keyboard.type(":5432")
    expect(page.get_by_label("Address")).to_have_value("10.0.0.5:5432")


def test_field_that_was_left_keeps_what_was_typed(site: SimpleNamespace):
    """The fields of another system arrive after the next fields were filled in."""
    page, requests = choose_system(site, "postgresql")
    page.get_by_label("Password").fill("word")
    page.get_by_label("TLS").focus()
    requests[0].continue_()
    expect(page.get_by_label("Database")).to_be_visible()
    expect(page.get_by_label("Password")).to_have_value("word")


def test_last_answer_counts_where_fields_follow_each_other(site: SimpleNamespace):
    """The address was typed, and left, before the fields of the chosen system arrived."""
    page, requests = choose_system(site, "memcached")
    page.get_by_label("Address").fill("postgresql://ycsb:word@127.0.0.1:1/ycsb?sslmode=require")
    page.keyboard.press("Tab")
    requests[0].continue_()
    expect(page.get_by_label("Address")).to_have_value("127.0.0.1:1")
    expect(page.get_by_label("Password")).to_have_value("word")
    assert site.complaints == []


def test_fields_are_drawn_anew_after_a_press(site: SimpleNamespace):
    page = site.open()
    page.goto("/own-server/")
    page.get_by_label("Address").fill("postgresql://ycsb:word@127.0.0.1:1/ycsb?sslmode=require")
    page.mouse.move(5, 400)
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.mouse.down()
    page.wait_for_timeout(SETTLING_MS)
    page.mouse.up()
    expect(page.get_by_label("Password")).to_have_value("word")


def test_question_of_report_opens_in_sight(site: SimpleNamespace, team):
    report = published(team)
    page = site.open(viewport={"width": 1280, "height": 800})
    page.goto(f"/reports/{report.pk}/")
    for text, answer in (("Revoke …", "Revoke the link"), ("Delete the report …", "Delete “")):
        page.get_by_text(text, exact=True).click()
        expect(page.get_by_role("button", name=answer)).to_be_in_viewport(ratio=1)

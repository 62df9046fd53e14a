"""The second factor as a person switches it on in Chromium: its pages fit, are accessible and draw the QR code."""

import re

import pytest
from django.test import Client

from benchsite.accounts.tests.test_second_factor import CODE, make_code
from benchsite.tests.browser import axe_findings, chromium, opened_site
from runs.tests.factories import make_team, make_user

__all__ = ["chromium"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.mark.parametrize(("width", "theme"), [pytest.param(1280, "light", marks=pytest.mark.long), (390, "dark")])
def test_pages_of_the_second_factor(chromium, live_server, settings, width, theme):
    settings.REQUIRE_SECOND_FACTOR = True
    client = Client()
    client.force_login(make_user(team=make_team(), username="ada"))

    def check():
        assert axe_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    with opened_site(chromium, live_server.url, client) as site:
        page = site.open(viewport={"width": width, "height": 900}, color_scheme=theme)
        page.goto("/")
        check()
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Go on").click()
        secret = page.locator("#key").text_content()
        assert page.locator("img.qr").evaluate("image => image.complete && image.naturalWidth > 0")
        check()
        page.get_by_label("Code").fill(make_code(secret))
        page.get_by_role("button", name="Switch on").click()
        assert len(re.findall(r"\d{8}", page.locator("#codes").text_content())) == 10
        check()
        page.get_by_role("link", name="I have stored them").click()
        check()
        for link in ("Recovery codes", "Make new codes"):
            page.get_by_role("link", name=link).click()
            check()
        page.goto("/account/")
        page.get_by_role("link", name="Switch off").click()
        check()

        page.context.clear_cookies()
        page.goto("/sign-in/?next=/account/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Sign in").click()
        assert page.url == site.url + CODE
        check()
        page.get_by_label("Code").fill(make_code(secret, steps=1))
        page.get_by_role("button", name="Sign in").click()
        assert page.url == site.url + "/account/"
        assert site.complaints == []

"""Addresses that only take what a form sends: opened by hand they say so, and signing in never leads to one."""

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from benchsite.accounts.tests.test_signing_in import SIGN_IN, person, sign_in
from benchsite.core.url_checks import openable

__all__ = ["person"]

SAMPLES = {"uuid": "01a1fee2-3704-742b-a7c9-03c7a127df52", "int": "7"}


def plain(patterns, so_far=""):
    """Every address of the site whose parts are numbers and ids only."""
    for entry in patterns:
        parts = entry.pattern.converters.items()
        sample = str(entry.pattern).removeprefix("^")
        for name, converter in parts:
            kind = type(converter).__name__.removesuffix("Converter").lower()
            sample = sample.replace(f"<{kind}:{name}>", SAMPLES.get(kind, "<"))
        if "<" in sample or "(" in sample or sample in ("admin/", "api/v1/"):
            continue
        if isinstance(entry, URLResolver):
            yield from plain(entry.url_patterns, so_far + sample)
        elif isinstance(entry, URLPattern):
            yield "/" + so_far + sample


@pytest.mark.slow
@pytest.mark.django_db
def test_it_knows_of_every_address_whether_it_can_be_opened():
    # Pages, which end with a stroke; what programs ask may wait for what is not there in tests.
    addresses = [one for one in plain(get_resolver().url_patterns) if one.endswith("/")]
    refused = {address for address in addresses if Client().get(address).status_code == 405}
    assert {address for address in addresses if openable(address) != address} == refused
    assert len(refused) > 20 and not {openable(refusal) for refusal in refused} & refused


@pytest.mark.parametrize(
    ("address", "back"),
    [
        ("/team/", "/"),
        ("/team/members/7/", "/team/members/"),
        (f"/team/tokens/{SAMPLES['uuid']}/", "/team/tokens/"),
        ("/team/members/", "/team/members/"),
        ("/runs/?status=failed", "/runs/?status=failed"),
        ("/nothing/here/", "/nothing/here/"),
        ("", ""),
    ],
)
def test_it_leads_to_the_page_above(address, back):
    assert openable(address) == back


def test_a_browser_gets_a_page_with_a_way_back(client_in):
    response = client_in.get("/team/members/7/", headers={"accept": "text/html,*/*"})
    assert (response.status_code, response["Allow"]) == (405, "POST")
    assert response["Content-Length"] == str(len(response.content))
    page = response.content.decode()
    assert "This address cannot be opened" in page and 'href="/team/members/"' in page
    assert "does not take what was sent" in client_in.post("/runs/", headers={"accept": "text/html"}).content.decode()


def test_a_program_gets_no_page(client_in):
    assert client_in.get("/team/members/7/").content == b""


@pytest.mark.django_db
def test_signing_in_again_never_leads_to_where_a_form_was_sent(person):
    asked = Client().post("/team/members/7/")
    assert asked["Location"] == f"{SIGN_IN}?next=/team/members/7/"
    assert b'name="next" value="/team/members/"' in Client().get(asked["Location"]).content
    assert sign_in(Client(), next="/team/members/7/")["Location"] == "/team/members/"
    assert sign_in(Client(), next="/team/")["Location"] == "/"

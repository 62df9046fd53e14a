"""Text is compressed for who accepts it, except in responses that hold a secret."""

import gzip

import pytest
from django.urls import reverse

from benchsite.accounts.models import Role
from conftest import signed_in
from runs.tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_pages_are_compressed(client_in):
    page = client_in.get(reverse("systems"), headers={"accept-encoding": "gzip"})
    assert page["Content-Encoding"] == "gzip"
    assert b"<h1>" in gzip.decompress(page.content)
    assert "Content-Encoding" not in client_in.get(reverse("systems")).headers


def test_pages_with_secrets_are_not_compressed(team):
    client = signed_in(make_user(team=team, role=Role.ADMIN))
    page = client.get(reverse("tokens"), headers={"accept-encoding": "gzip"})
    assert page.status_code == 200 and "no-store" in page["Cache-Control"]
    assert "Content-Encoding" not in page.headers

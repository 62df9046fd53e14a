"""The address that monitoring asks."""

import pytest
from django.db import connection
from django.test import Client


@pytest.mark.django_db
def test_it_answers_while_postgresql_does():
    response = Client().get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
def test_it_rejects_post():
    assert Client().post("/healthz").status_code == 405


@pytest.mark.django_db
def test_it_says_so_when_postgresql_is_gone():
    def refuse(execute, sql, params, many, context):
        from django.db import OperationalError

        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(refuse):
        assert Client().get("/healthz").status_code == 503

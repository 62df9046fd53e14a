"""Whose address counts behind a proxy."""

import json
import logging
import sys

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from benchsite.core.logs import JsonLines
from benchsite.core.middleware import ClientAddress


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("10.9.9.9, 203.0.113.9", "203.0.113.9"),  # The first was written by the client itself.
        ("2001:db8::7", "2001:db8::7"),
        ("unknown", "127.0.0.1"),
        ("'; DROP TABLE", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_it_takes_the_address_that_the_proxy_added(forwarded, address):
    request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded})
    seen = []
    ClientAddress(lambda request: seen.append(request.META["REMOTE_ADDR"]) or HttpResponse())(request)
    assert seen == [address]


def test_it_writes_a_line_of_json_for_each_record():
    try:
        raise ValueError("no\nsuch")
    except ValueError:
        record = logging.LogRecord("runs", logging.ERROR, "x.py", 1, "lost %s", ("“r1”\nand more",), sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    data = json.loads(line)
    assert (data["level"], data["logger"], data["message"]) == ("ERROR", "runs", "lost “r1”\nand more")
    assert data["time"].endswith("+00:00") and "ValueError" in data["traceback"]

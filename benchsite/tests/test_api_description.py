"""The description of the API: valid OpenAPI 3.1, committed as the code has it, and shown on a page of its own."""

import json

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator  # type: ignore[import-untyped,unused-ignore]

from benchsite.management.commands.openapi import FILE
from benchsite.tests.asking import Program, described

pytestmark = pytest.mark.slow

ENDPOINTS = described()
NAMES = [said["operationId"] for _, _, said in ENDPOINTS]


def committed():
    return json.loads(FILE.read_text())


def test_what_is_committed_is_what_the_code_says():
    call_command("openapi", check=True)


def test_order_is_no_matter_of_what_was_imported_first():
    document = committed()
    for named in (document["paths"], document["components"]["schemas"]):
        assert list(named) == sorted(named)


def test_it_is_valid_openapi():
    import schemathesis

    document = committed()
    assert document["openapi"].startswith("3.1")
    schemathesis.openapi.from_dict(document).validate()
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert name.isidentifier()


def test_every_reference_leads_somewhere():
    text, schemas = FILE.read_text(), committed()["components"]["schemas"]
    referred = {part.split('"', 1)[0] for part in text.split("#/components/schemas/")[1:]}
    assert referred <= set(schemas)


@pytest.mark.parametrize(("method", "path", "said"), ENDPOINTS, ids=NAMES)
def test_every_endpoint_says_what_it_does_and_how_it_refuses(method, path, said):
    assert said["summary"]
    responses = {int(status): response for status, response in said["responses"].items()}
    refusing = {status: response for status, response in responses.items() if status >= 400}
    assert all(set(one["content"]) == {"application/problem+json"} for one in refusing.values())
    if said.get("security"):
        assert {401, 403, 429} <= set(refusing)
    assert 500 not in responses
    assert "requestBody" not in said or 400 in refusing


def test_no_two_endpoints_have_one_name():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.django_db
def test_the_page_and_the_description_are_for_everybody():
    program = Program(None)
    assert program.said("/openapi.json") == committed()
    page = program.get("/docs")
    assert page.status_code == 200
    assert b"<script>" not in page.content


@pytest.mark.django_db
def test_the_tokens_page_and_every_page_lead_to_it(client_in):
    assert b'href="/api/v1/docs"' in client_in.get("/").content


def _not_closed(schema, known):
    """Names of the shapes of a body, however deep, that take fields which nobody knows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        shape = known[name]
        own = [] if shape.get("additionalProperties") is False or "properties" not in shape else [name]
        return own + _not_closed({"allOf": list(shape.get("properties", {}).values())}, known)
    parts = [part for word in ("anyOf", "allOf", "oneOf") for part in schema.get(word, [])]
    inner = [*parts, *([schema["items"]] if "items" in schema else [])]
    return [name for part in inner for name in _not_closed(part, known)]


def test_every_body_says_that_it_takes_no_unknown_field():
    known = committed()["components"]["schemas"]
    bodies = [
        said["requestBody"]["content"]["application/json"]["schema"]
        for _, _, said in ENDPOINTS
        if "application/json" in said.get("requestBody", {}).get("content", {})
    ]
    assert len(bodies) > 8
    assert [name for body in bodies for name in _not_closed(body, known)] == []

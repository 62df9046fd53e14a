"""Addresses of removed pages and endpoints are answered with 410 and what to use instead."""

import pytest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("address", "instead"),
    [
        ("/matrices/1/kit/", "script"),
        ("/matrices/1/outputs/", "/import/"),
        ("/matrices/1/outputs/2/", "/import/"),
        ("/published/vari-2013/", "/published/"),
        ("/published/vari-2013/buckets.csv", "/published/"),
        ("/figures/published/vari-2013/buckets.json", "/published/"),
        ("/matrices/templates/", "/published/"),
        ("/r/abcdefgh/kit.zip", "script"),
        ("/r/abcdefgh@2/kit.zip.sig", "script"),
        ("/r/abcdefgh@2.csv.sig", ".zip"),
        ("/watch/", "report"),
        ("/watch/abcdefgh/figures/latency/", "report"),
        ("/reports/import/", "verify_report.py"),
        ("/team/hand-over/", "Members"),
        ("/scaling/?matrix=all", "Scalability"),
        ("/figures/price/", "/sizing/"),
        ("/figures/durability.csv", "bars"),
        ("/figures/stability.json", "per second"),
        ("/figures/runs/1/heat/", "per second"),
    ],
)
def test_removed_page_names_its_replacement(client, address, instead):
    response = client.get(address)

    assert response.status_code == 410
    assert instead in response.content.decode()


@pytest.mark.parametrize(
    ("address", "instead"),
    [
        ("/api/v1/matrices/1/kit", "script"),
        ("/api/v1/matrices/1/outputs", "/import/"),
        ("/api/v1/runs:batch", "Idempotency-Key"),
        ("/api/v1/runs/by-key/github:acme/shop:r1", "Idempotency-Key"),
    ],
)
def test_removed_endpoint_answers_a_problem(client, address, instead):
    response = client.post(address)

    assert (response.status_code, response["Content-Type"]) == (410, "application/problem+json")
    assert response.json()["type"] == "/problems/gone"
    assert instead in response.json()["detail"]


def test_unknown_addresses_are_still_not_found(client):
    assert client.get("/matrices/1/nothing/").status_code == 404
    assert client.get("/api/v1/nothing").status_code == 404

"""The page of the published studies: what it shows, and what it costs."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import conditional_escape
from django.utils.text import capfirst

from runs.plans.studies import studies
from runs.plans.studies.coverage import read_items

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# Session, person, membership with the team.
MAX_QUERIES = 3
AEROSPIKE, CASSANDRA, COUCHBASE = "Aerospike (Citrusleaf)", "Cassandra (DataStax)", "Couchbase, Membase"
HBASE, MONGODB = "HBase, HDFS, YARN, ZooKeeper", "MongoDB (10gen)"
# Of each study those that it measured.
SYSTEMS = {
    "thumbtack-2013": [AEROSPIKE, CASSANDRA, COUCHBASE, MONGODB],
    "aerospike-2017": [AEROSPIKE, COUCHBASE],
    "vari-2013": [COUCHBASE],
    "thumbtack-2014": [CASSANDRA, COUCHBASE, MONGODB],
    "columbia-2016": [CASSANDRA, HBASE, MONGODB],
}


def page(client, url="/published/"):
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def test_shows_all_studies_with_every_number(client_in):
    html = page(client_in).replace("&#x27;", "'")

    for study in studies():
        assert study.source.split("'")[0][:40] in html
        assert f"{reverse('plan-import')}?study={study.slug}" in html and f"published={study.slug}" in html
        assert all(f'id="{fact.id}"' in html for fact in study.facts)
    assert "269 numbers" in html and "Disputed:" in html and "1,878,120" in html


def test_names_what_stays_partial_in_one_list(client_in):
    html = page(client_in)
    partial = [item for item in read_items() if item.covered != "yes"]

    panel = html[html.index('id="partial"') :]
    assert f"{len(partial)} of {len(read_items())} items" in panel
    for item in partial:
        assert conditional_escape(capfirst(item.name)) in panel, item
        assert conditional_escape(item.reason.replace("`", "")) in panel, item
    for study in studies():
        assert f'href="#partial-{study.slug}"' in html and f'<tbody id="partial-{study.slug}">' in panel


def test_names_the_systems_of_each_study_that_stay_partial(client_in):
    """Of Aerospike and Couchbase no server can be had; no client of Voldemort is published any more."""
    html = page(client_in)
    for slug, names in SYSTEMS.items():
        rows = html.partition(f'<tbody id="partial-{slug}">')[2].partition("</tbody>")[0]
        assert all(f'<th scope="row">{name}</th>' in rows for name in names), slug
        count = rows.count('<th scope="row">')
        assert f'href="#partial-{slug}">{count} items that Benchsite covers' in html, slug
    assert "Voldemort is not in the catalog" in html


def test_saves_all_numbers_with_their_sources(client_in):
    response = client_in.get("/published/facts.csv")

    assert response["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == 269 and all(row["source"] for row in rows)


@pytest.mark.parametrize("url", ["/published/", "/published/facts.csv"])
def test_nobody_reads_it_without_signing_in(client, url):
    response = client.get(url)
    assert response.status_code == 302 and "/sign-in" in response["Location"]


def test_page_asks_for_the_person_and_nothing_else(client_in):
    client_in.get("/published/")
    with CaptureQueriesContext(connection) as queries:
        assert client_in.get("/published/").status_code == 200
    assert len(queries) <= MAX_QUERIES, [query["sql"][:80] for query in queries]


def test_stranger_sees_the_same_numbers(stranger, client_in):
    assert page(stranger).count("disputed") == page(client_in).count("disputed")

"""The pages of the published studies: what they show, what they cost, and what they say to a broken address."""

import csv
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.studies import studies

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SLUGS = [study.slug for study in studies()]
# Session, person, membership with the team.
QUERIES = 3


def page(client, url):
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def rows_of(response):
    assert response.status_code == 200 and response["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_all_studies_are_listed_with_their_question_and_numbers(client_in):
    html = page(client_in, "/published/").replace("&#x27;", "'")
    for study in studies():
        assert study.question in html and reverse("published-study", args=[study.slug]) in html
        assert f"template={study.slug}" in html and f"published={study.slug}" in html
    assert "269 numbers" in html and "disputed" in html and "1,878,120" in html


@pytest.mark.parametrize("slug", SLUGS)
def test_a_study_shows_every_number_with_what_speaks_against_it(client_in, slug):
    html = page(client_in, f"/published/{slug}/")
    study = next(study for study in studies() if study.slug == slug)
    for fact in study.facts:
        assert f'id="{fact.id}"' in html
    for dispute in study.disputes:
        assert html.count(dispute.why.split("'")[0][:40].replace("&", "&amp;")) > len(dispute.facts)
    assert study.citation.split(":")[0] in html and study.method[0].value.split('"')[0][:30] in html


@pytest.mark.parametrize("slug", SLUGS)
def test_every_picture_and_table_of_a_study_answers(client_in, slug):
    html = page(client_in, f"/published/{slug}/").replace("&amp;", "&")
    for url in re.findall(r'data-src="([^"]+)"', html):
        for query in ({}, {"theme": "dark", "narrow": "1"}):
            answer = client_in.get(url, query).json()
            assert answer["figure"]["data"] and answer["table"]["rows"] and "Printed by" in answer["caption"]
    for url in re.findall(r'(?:href|data-csv)="([^"]+\.csv[^"]*)"', html):
        assert rows_of(client_in.get(url))


def test_values_only_in_figures_are_marked_not_transcribed(client_in):
    assert "Values in figures only: not transcribed" in page(client_in, "/published/thumbtack-2013/")


def test_recomputed_scores_stand_beside_the_printed_ones(client_in):
    rows = rows_of(client_in.get("/published/thumbtack-2014/recomputed.csv"))
    assert len(rows) == 18
    told = {row["fact"]: (row["printed"], row["recomputed"], row["outcome"]) for row in rows}
    assert told["tt14-041"] == ("89.57 %", "107.8877", "does not reproduce: disputed")
    assert told["tt14-039"] == ("53.26 %", "53.2606", "reproduces")
    assert "15 of 18 reproduce" in page(client_in, "/published/thumbtack-2014/")


def test_a_disputed_point_is_drawn_hollow(client_in):
    answer = client_in.get("/figures/published/thumbtack-2014/throughput-read-heavy/").json()
    couchbase = next(trace for trace in answer["figure"]["data"] if trace.get("name") == "Couchbase")
    assert all(symbol.endswith("-open") for symbol in couchbase["marker"]["symbol"])
    assert couchbase["y"][-1] == 1878120


def test_facts_are_found_by_words_database_and_metric(client_in):
    assert "1 of 269 numbers match" in page(client_in, "/published/?q=footnote+6")
    rows = rows_of(client_in.get("/published/facts.csv", {"database": "HBase", "metric": "throughput"}))
    assert [row["id"] for row in rows] == ["co16-017"]
    only = rows_of(client_in.get("/published/facts.csv", {"disputed": "1", "study": "vari-2013"}))
    assert only and all(row["disputed because"] for row in only)
    assert len(rows_of(client_in.get("/published/facts.csv"))) == 269
    html = page(client_in, "/published/vari-2013/?metric=histogram")
    assert "21 of 48 printed numbers" in html


@pytest.mark.parametrize(
    "query",
    [
        "?q=%00%00",
        "?database=nobody&metric=nothing",
        "?q=" + "x" * 5000,
        "?q=<script>alert(1)</script>",
        "?disputed=maybe",
    ],
)
def test_a_broken_address_is_answered_and_escaped(client_in, query):
    for url in ("/published/", "/published/aerospike-2017/"):
        html = page(client_in, url + query)
        assert "<script>alert" not in html and "x" * 200 not in html
    assert client_in.get("/published/facts.csv" + query).status_code == 200


def test_nothing_that_matches_says_what_to_do(client_in):
    assert "Use fewer words" in page(client_in, "/published/?q=zzzz")
    assert "No printed number of this study matches" in page(client_in, "/published/vari-2013/?q=zzzz")


@pytest.mark.parametrize(
    "url",
    [
        "/published/nobody-1999/",
        "/published/vari-2013/nothing.csv",
        "/published/nobody-1999/buckets.csv",
        "/published/facts.csv?study=nobody-1999",
        "/figures/published/vari-2013/nothing/",
        "/figures/published/nobody-1999/buckets.json",
    ],
)
def test_what_is_not_there_is_not_found(client_in, url):
    assert client_in.get(url).status_code == 404


def test_nobody_reads_them_without_signing_in(client):
    for url in (
        "/published/",
        "/published/vari-2013/",
        "/published/facts.csv",
        "/figures/published/vari-2013/buckets/",
    ):
        response = client.get(url)
        assert response.status_code == 302 and "/sign-in" in response["Location"]


@pytest.mark.parametrize("url", ["/published/", "/published/?q=couchbase", *(f"/published/{slug}/" for slug in SLUGS)])
def test_a_page_asks_for_the_person_and_nothing_else(client_in, url):
    client_in.get(url)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client_in.get(url).status_code == 200
    assert len(asked) <= QUERIES, [query["sql"][:80] for query in asked]


def test_stranger_sees_the_same_pack_and_no_team_data(stranger, client_in):
    assert "269 numbers" in page(stranger, "/published/")

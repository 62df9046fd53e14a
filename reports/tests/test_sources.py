"""What ran here is told from what was uploaded, wherever it is shown."""

import pytest

from benchsite.accounts import tokens
from reports.compare.analysis.differences import differences
from reports.compare.pages.filter_menus import menus
from reports.compare.queries import facets
from reports.compare.queries.sweep_selection import chosen
from reports.compare.selection import ALL, Selection
from reports.published.method import method_sentences
from runs.tests.factories import make_run, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweeps(team):
    """One of each source, by its name."""
    here = make_sweep(team=team, purpose="measured")
    uploaded = make_sweep(team=team, purpose="measured")
    type(uploaded).objects.filter(pk=uploaded.pk).update(matrix=None)
    make_run(here, threads=2)
    make_run(uploaded, threads=2, source="uploaded", matrix=None)
    return {"scheduled": here.pk, "uploaded": uploaded.pk}


def curves(team, *sources):
    return chosen(team, Selection(matrix=ALL, sources=sources)).curves


def test_the_menu_offers_each_and_finds_only_those(team, sweeps):
    offered = {menu.name: menu for menu in menus(Selection(), facets(team, None))}["source"]
    answer = {value: text for value, text, _ in offered.options}
    assert answer == {"scheduled": "run here", "uploaded": "uploaded"}
    for source, sweep in sweeps.items():
        assert {curve.sweep_id for curve in curves(team, source)} == {sweep}
        assert {curve.source for curve in curves(team, source)} == {source}
    assert {curve.sweep_id for curve in curves(team, *sweeps)} == set(sweeps.values())
    assert len(curves(team)) == 2


def test_a_comparison_says_it_of_each_side(team, client_in, sweeps):
    [source] = [difference for difference in differences(curves(team)) if difference.label == "how it was run"]
    assert set(source.values) == {"run here", "uploaded"}
    page = client_in.get("/compare/?" + "&".join(f"sweep={pk}" for pk in sweeps.values()), follow=True)
    html = page.content.decode()
    assert html.count('<span class="chip">uploaded</span>') == 1


def test_method_of_a_report_names_uploads(team, sweeps):
    text = " ".join(method_sentences(curves(team), "service", None, None))
    assert "1 were uploaded" in text


def test_programs_are_told(team, user, sweeps, client):
    token = tokens.make(team, user, name="reads", scopes=["runs:read"])

    def read(where):
        return client.get(f"/api/v1{where}", headers={"Authorization": f"Bearer {token}"}).json()

    for source, sweep in sweeps.items():
        assert read(f"/sweeps/{sweep}")["source"] == source
        assert [item["source"] for item in read(f"/runs?source={source}")["items"]] == [source]
    assert {item["source"] for item in read("/sweeps")["items"]} == set(sweeps)

"""The page of a frozen report: what it says, from the snapshot alone."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchsite.core.formatting import NOTHING
from benchsite.tests.line_breaks import without_line_breaks
from reports.published.links import find_link
from reports.published.pages import abreast, build_cell, get_page, grid
from reports.published.publication import load_content
from reports.tests import frozen as measured
from reports.tests.snapshots import published
from runs.models import Matrix, Run, Sweep
from runs.plans.files.plan_export import export_plan
from runs.plans.files.script import repeat_script
from runs.tests.planning_world import a_matrix

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def page_at(client, report, end=""):
    answer = client.get(f"/r/{find_link(report).token}{end}")
    assert answer.status_code == 200, answer.status_code
    return without_line_breaks(answer.content.decode())


def test_it_is_read_without_an_account_when_no_run_is_left(team, client):
    report = measured.published(team)
    token = find_link(report).token
    assert Run.objects.exists()
    Run.objects.all().delete()
    Sweep.objects.all().delete()
    Matrix.objects.all().delete()
    page = page_at(client, report)
    for said in ("What durability costs Redis", "sustains 1.3k ops/s", "revision 1 of 1", "not stated", "Figure 1"):
        assert said in page
    assert client.get(f"/r/{token}@1/figures/ceilings/").json()["figure"]["data"]
    for form in ("json", "zip", "md", "html"):
        assert client.get(f"/r/{token}.{form}").status_code == 200
    assert client.get(f"/r/{token}/embed?figure=ceilings").status_code == 200


def test_it_asks_no_table_of_runs(team, client):
    report = published(team)
    with CaptureQueriesContext(connection) as asked:
        page_at(client, report)
    assert not [one["sql"] for one in asked if re.search(r'"(runs|workers)_', one["sql"])]


def test_bare_link_shows_newest_and_number_pins_a_revision(team, client):
    report = published(team, revisions=3)
    newest, first = page_at(client, report), page_at(client, report, "@1")
    assert "revision 3 of 3" in newest and "Revised 2 times" in newest
    assert "revision 1 of 3" in first and "Revised" not in first
    assert "This is revision 1 of 3" in first and "This is revision" not in newest
    assert f"/r/{find_link(report).token}@3.json" in newest


def test_there_is_no_revision_beyond_the_newest(team, client):
    report = published(team)
    for end in ("@2", "@0", "@2.json", "@2/figures/ceilings/", "@99999999999999999999"):
        assert client.get(f"/r/{find_link(report).token}{end}").status_code == 404, end


def test_what_nobody_stated_reads_not_stated(team, client):
    disclosures = {"paid_by": " ", "vendor_relations": "We work for the vendor.", "settings_reviewed_by": ""}
    page = page_at(client, published(team, disclosures=disclosures))
    assert page.count("not stated") == 2
    assert "We work for the vendor." in page


def test_figures_and_tables_follow_the_chosen_order(team, client):
    order = ["points", "latency", "ceilings"]
    page = page_at(client, published(team, order=order))
    places = [page.index(f'id="{name}-title"') for name in order]
    assert places == sorted(places)
    assert 'id="percentiles-title"' in page  # what the order forgets is not lost
    assert places[-1] < page.index('id="percentiles-title"')


def test_a_footnote_stands_at_its_cell_and_below_its_table(team, client):
    page = page_at(client, published(team))
    assert re.search(r'<sup><a\s+href="#points-1">1</a></sup\s*>', page)
    assert re.search(r'<li id="points-1" value="1">The first rung', page)


def test_the_demonstration_is_said_first(team, client):
    page = page_at(client, published(team, demonstration="Too short to publish."))
    assert page.index("Too short to publish.") < page.index("Figure 1")


def test_run_this_again_is_offered_with_a_plan_only(team, client):
    with_plan, without = published(team, plan="broken"), published(team)
    assert "plan.toml" in page_at(client, with_plan)
    assert "plan.toml" not in page_at(client, without)
    assert client.get(f"/r/{find_link(without).token}/repeat.sh").status_code == 404
    assert client.get(f"/r/{find_link(with_plan).token}/plan.toml").content == b"broken"
    # A plan that came from elsewhere may be nonsense: no script is offered.
    assert "repeat.sh" not in page_at(client, with_plan)
    assert client.get(f"/r/{find_link(with_plan).token}/repeat.sh").status_code == 404


def test_shows_and_offers_the_script_that_repeats_it(team, client):
    plan = export_plan(a_matrix(team))
    report = published(team, plan=plan)

    page = page_at(client, report)

    assert "repeat.sh" in page and "cell 0001-" in page
    saved = client.get(f"/r/{find_link(report).token}/repeat.sh")
    assert saved.content.decode() == repeat_script(plan)
    assert saved["Content-Disposition"].endswith('.sh"')


def test_script_of_a_search_needs_its_loads(team, client):
    search = "[search]\nwidth = 0.1\nmax_trials = 9\nmax_error_rate = 0.01\n"
    plan = f"{export_plan(a_matrix(team))}\n{search}"

    assert "loads of this search are not known" in page_at(client, published(team, plan=plan))
    assert "repeat.sh" in page_at(client, published(team, plan=plan, loads={"Redis always": [4]}))


def test_it_says_how_to_cite_and_verify_it(team, client):
    report = published(team)
    page = page_at(client, report)
    assert report.revisions.get().digest in page
    assert f"/r/{find_link(report).token}@1.json | sha256sum" in page


def test_a_table_of_many_sides_is_cut_into_such_as_fit():
    columns = ["", *[f"side {number}" for number in range(14)]]
    cut = abreast({"columns": columns, "rows": [["version", *range(14)]]})
    assert [len(one["columns"]) for one in cut] == [7, 7, 3]
    assert all(one["rows"][0][0] == "version" for one in cut)
    assert sorted(cell for one in cut for cell in one["rows"][0][1:]) == list(range(14))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1234567.891, "1,234,568"),
        (0.123456789, "0.123"),
        (-5, "\N{MINUS SIGN}5"),
        (None, NOTHING),
        ("", NOTHING),
        (12, "12"),
    ],
)
def test_a_number_is_written_as_in_the_table_of_a_figure(cell, text):
    assert build_cell(cell).text == text


def test_short_rows_and_long_rows_break_no_table():
    found = grid({"columns": ["a", "b"], "rows": [["x"], ["y", 1, "too many"]]})
    assert [len(row) for row in found["rows"]] == [1, 2]


def test_the_page_is_pure(team):
    content = load_content(published(team).revisions.get())
    assert get_page(content) == get_page(content)


def test_environment_column_is_text_despite_numeric_cells():
    properties = "fieldcount=10, fieldlength=100, readproportion=0.5, updateproportion=0.5"
    sides = grid({"columns": ["", "Redis"], "rows": [["mode", "always"], ["nodes", 1], ["properties", properties]]})
    assert sides["columns"] == [("", False), ("Redis", False)]
    assert [row[1][0].is_prose for row in sides["rows"]] == [False, False, True]
    numbers = grid({"columns": ["side", "ceiling"], "rows": [["a", 1.5], ["b", None], ["c", "the baseline"]]})
    assert numbers["columns"] == [("side", False), ("ceiling", True)]


def test_every_sheet_of_paper_says_where_it_is_from(team, client):
    report = published(team)
    page, digest = page_at(client, report), report.revisions.get().digest
    foot = f"@1 · SHA-256 {digest[:16]}…"
    assert re.search(rf"<html[^>]* style=\"--foot: '[^']*{foot}'\"", page)
    assert foot in page_at(client, report, ".html").split("<head>")[0]
    assert "report-print.css" in page and "counter(pages)" in page_at(client, report, ".html")


def test_the_notes_have_a_heading_above_their_own(team, client):
    page = page_at(client, published(team, notes="# What we did"))
    assert re.search(r"<h2[^>]*>Notes</h2>\s*<h3>What we did", page)

"""A report as files: the digest, the CSV that is no program, the Markdown."""

import csv
import hashlib
import io
import itertools
import json
import re
from html import escape
from zipfile import ZipFile

import pytest

from benchsite.core.formatting import not_a_formula
from reports.published.exports import as_markdown, as_zip, file_name
from reports.published.links import find_link
from reports.published.publication import load_content
from reports.tests.snapshots import published

pytestmark = pytest.mark.django_db
FORMULAS = ("=cmd|'/C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1")
WIDE = "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"


def test_the_json_is_the_canonical_bytes_with_the_digest(team, client):
    report = published(team)
    revision = report.revisions.get()
    answer = client.get(f"/r/{find_link(report).token}.json")
    assert hashlib.sha256(answer.content).hexdigest() == revision.digest
    assert json.loads(answer.content) == load_content(revision)
    assert answer["Content-Disposition"].endswith(f'-{revision.digest[:16]}.json"')


def unpack(data):
    with ZipFile(io.BytesIO(data)) as files:
        return {name: files.read(name).decode() for name in files.namelist()}


def test_no_cell_of_the_csv_is_a_formula(team, client):
    report = published(team)
    content = load_content(report.revisions.get())
    content["title"], content["headline"], content["team"] = FORMULAS[:3]
    content["figures"][0]["title"] = FORMULAS[3]
    table = {"columns": list(FORMULAS), "rows": [list(FORMULAS)]}
    content["tables"] = [{**content["tables"][0], "table": table}]
    content["method"]["environment"] = content["method"]["excluded"] = table
    for text in unpack(as_zip(content, "0" * 64)).values():
        for cell in itertools.chain(*csv.reader(io.StringIO(text, newline=""))):
            number = cell.replace(".", "", 1).replace("-", "", 1).isdigit()
            assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")), cell
    url = f"/r/{find_link(published(team, tables=content['tables'])).token}"
    for line in csv.reader(io.StringIO(client.get(f"{url}/tables/points.csv").content.decode(), newline="")):
        assert all(cell.startswith("'") for cell in line)


@pytest.mark.parametrize("cell", ["x;=1+1", "x; @SUM(A1)", 'x;"=1"', "x\n+1", "x;;-1", "\t=1", ";=1"])
def test_semicolon_begins_no_formula(cell):
    """Spreadsheets of many countries separate cells by semicolons, whatever the file does."""
    out = io.StringIO()
    csv.writer(out).writerow(["a", not_a_formula(cell)])

    for part in re.split(r"[;\n]", out.getvalue().partition(",")[2]):
        assert not part.strip('" \r\t').startswith(("=", "+", "-", "@")), part


@pytest.mark.parametrize("sign", ["\ufeff=", " =", "\ufeff\t@", *WIDE])
def test_no_sign_that_is_read_as_another_begins_a_formula(sign):
    for begin in ("", "x;", "x; "):
        assert "'" in not_a_formula(f"{begin}{sign}1")


def test_every_table_is_a_csv_of_the_zip(team, client):
    report = published(team)
    url = f"/r/{find_link(report).token}"
    content = load_content(report.revisions.get())

    response = client.get(f"{url}.zip")
    tables = unpack(response.content)

    assert response["Content-Type"] == "application/zip" and response["Content-Disposition"].endswith('.zip"')
    heads, *numbered = tables.values()
    assert content["headline"] in heads and content["team"] in heads
    assert len(numbered) == len(content["figures"]) + len(content["tables"]) + 4
    ceilings = next(text for name, text in tables.items() if name.endswith("-ceilings.csv"))
    assert ceilings.encode() == client.get(f"{url}/figures/ceilings.csv").content
    assert tables[max(tables)] == heads and len(content["sources"]) == numbered[-1].count("0" * 64)
    assert client.get(f"{url}.zip").content == response.content


def test_markdown_has_text_tables_footnotes_and_no_html(team):
    content = load_content(published(team, notes="<script>alert(1)</script> *so*").revisions.get())
    content["title"] = "<img src=x> | [a](javascript:x)"
    text = as_markdown(content, "abc", "https://bench.example/r/x@1").decode()
    assert "<script" not in text and "<img" not in text and "[a](" not in text
    for said in ("*so*", "| database |", "not stated", "- row 1, ", "`abc`", "<https://bench.example/r/x@1>"):
        assert said in text


@pytest.mark.parametrize("title", ['a"; x=1', "../../etc/passwd", "\u202etxt.exe", "", "שלום", "x" * 500, "a\r\nb: c"])
def test_the_name_of_a_file_is_harmless(title):
    name = file_name(title, "f" * 64, "json")
    assert name.endswith("-ffffffffffffffff.json") and len(name) < 100
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") and ".." not in name


def test_the_numbers_of_one_figure_come_in_every_form(team, client):
    token = find_link(published(team)).token
    url = f"/r/{token}@1/figures/ceilings"
    for form, begins in (("csv", b"database"), ("md", b"| database"), ("tex", b"\\begin{tabular}"), ("json", b"{")):
        answer = client.get(f"{url}.{form}")
        assert answer.status_code == 200 and answer.content.startswith(begins)
    conditions = client.get(f"{url}.json").json()["conditions"]
    assert "Lines" in [term for term, _ in conditions]
    page = client.get(f"/r/{token}").content.decode()
    without_script = "".join(re.findall(r"<noscript.*?</noscript>", page, re.S))
    assert all(f"<dd>{escape(text)}</dd>" in without_script for _, text in conditions)
    assert client.get(f"{url}.exe").status_code == 404
    assert client.get(url.replace("ceilings", "nothing") + ".csv").status_code == 404

"""docs/coverage-of-the-studies.md says where each item of the published studies is: every reference has to exist."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

from django.urls import get_resolver

from benchsite.core.formatting import NOTHING
from runs.catalog import load_catalog
from runs.plans.studies import plan_text, studies

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "coverage-of-the-studies.md"
REFERENCE = re.compile(r"`(page|plan|system|property|test|doc):([^`]+)`")
LETTERS = {"B": "thumbtack-2013", "C": "aerospike-2017", "D": "vari-2013", "E": "thumbtack-2014", "F": "columbia-2016"}


@dataclass(frozen=True)
class Row:
    item: str
    facts: str
    where: str
    covered: str
    missing: str

    @property
    def references(self):
        return REFERENCE.findall(self.where)


def rows():
    found = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and not line.startswith(("|---", "| item ")):
            assert len(cells) == 6, line
            found.append(Row(cells[0], *cells[2:]))
    return found


ROWS = rows()


@functools.cache
def addresses():
    """The names of all addresses of the site."""
    values, waiting = set(), [get_resolver()]
    while waiting:
        for pattern in waiting.pop().url_patterns:
            if hasattr(pattern, "url_patterns"):
                waiting.append(pattern)
            elif pattern.name:
                values.add(pattern.name)
    return values


@functools.cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def properties():
    text = (ROOT / "runs" / "catalog" / "shared.toml").read_text("utf-8")
    return set(re.findall(r'\[properties\."([^"]+)"\]', text))


def missing(kind, name):
    """Why a reference leads nowhere; None where it leads somewhere."""
    match kind:
        case "page":
            return None if name in addresses() else "no address has this name"
        case "plan":
            return None if plan_text(name) else "there is no such plan"
        case "system":
            return None if name in load_catalog().systems else "the catalog has no such system"
        case "property":
            return None if name in properties() else "Benchsite declares no such property"
        case "test":
            path, _, test = name.partition("::")
            if not (ROOT / path).is_file():
                return "there is no such file"
            return None if not test or test in names_in(path) else "the file has no such test"
    return None if (ROOT / name).is_file() else "there is no such document"


def test_every_reference_leads_somewhere():
    found = [(row.item, kind, name) for row in ROWS for kind, name in row.references]
    assert found and [(*one, why) for one in found if (why := missing(*one[1:]))] == []
    # What stands between the references is nothing, so that no misspelt one is passed over.
    assert [row.item for row in ROWS if REFERENCE.sub("", row.where).strip(f" {NOTHING}")] == []


def test_what_is_not_covered_says_why():
    for row in ROWS:
        assert row.covered in ("yes", "partly", "no"), row
        assert row.covered == "yes" or len(row.missing) > 10, row
        assert row.covered == "no" or row.references, row


def test_covered_items_name_tests_that_run_their_systems():
    for row in ROWS:
        if row.covered == "yes":
            tests = [name.partition("::")[0] for kind, name in row.references if kind == "test"]
            assert tests, row.item
            for system in (name for kind, name in row.references if kind == "system"):
                assert any(system in Path(path).name for path in tests), (row.item, system)


def fact_ids(texts):
    """The ids that ids and ranges name: "tt14-001..tt14-018" is the eighteen from the first to the last."""
    ids = []
    for text in texts.split(", "):
        first, _, last = text.partition("..")
        key, number = first.split("-")
        ids += [f"{key}-{n:03d}" for n in range(int(number), int((last or first).split("-")[1]) + 1)]
    return ids


def test_every_printed_number_stands_in_a_row():
    in_rows = {fact for row in ROWS if row.facts != NOTHING for fact in fact_ids(row.facts)}
    assert in_rows == {fact.id for study in studies() for fact in study.facts}


def test_the_facts_of_a_row_are_those_of_its_study():
    studies_by_id = {fact.id: study.slug for study in studies() for fact in study.facts}
    for row in ROWS:
        if row.facts != NOTHING:
            assert {studies_by_id[fact] for fact in fact_ids(row.facts)} == {LETTERS[row.item[0]]}, row.item


def test_no_item_has_two_rows():
    assert len({row.item for row in ROWS}) == len(ROWS)


def test_every_study_has_its_plan_and_settings_in_rows():
    for study in studies():
        letter = next(letter for letter, slug in LETTERS.items() if slug == study.slug)
        own = [row for row in ROWS if row.item.startswith(letter)]
        assert any(f"plan:{study.slug}" in row.where for row in own)
    named = " ".join(row.item for row in ROWS)
    for name in ("exportmeasurementsinterval", "warmupoperationcount", "reconnectiontarget", "ignoreinserterrors"):
        assert name in named


def test_it_is_honest():
    """A document in which everything is covered would have been written by nobody who read the studies."""
    assert sum(row.covered == "no" for row in ROWS) >= 5

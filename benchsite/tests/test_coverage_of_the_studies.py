"""The list of the items of the published studies names where each is: every reference has to exist."""

import ast
import functools
import re
from pathlib import Path

from django.urls import get_resolver

from benchmarks.management.commands.coverage_of_studies import DOCUMENT, render
from runs.catalog import load_catalog
from runs.plans.studies import plan_text, studies
from runs.plans.studies.coverage import read_items

ROOT = Path(__file__).resolve().parents[2]
LETTERS = {"B": "thumbtack-2013", "C": "aerospike-2017", "D": "vari-2013", "E": "thumbtack-2014", "F": "columbia-2016"}
ITEMS = read_items()


def references_in(item):
    return [tuple(reference.split(":", 1)) for reference in item.references.split()]


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


def test_document_is_current():
    """`manage.py coverage_of_studies` writes it anew."""
    assert DOCUMENT.read_text("utf-8") == render(ITEMS)


def test_every_reference_leads_somewhere():
    references = [(item.item, kind, name) for item in ITEMS for kind, name in references_in(item)]
    reasons = [(item, name, missing(kind, name)) for item, kind, name in references]
    assert references
    assert [entry for entry in reasons if entry[2]] == []
    assert {kind for _, kind, _ in references} == {"page", "plan", "system", "property", "test", "doc"}


def test_what_is_not_covered_says_why():
    for item in ITEMS:
        assert item.covered in ("yes", "partly", "no"), item
        assert item.covered == "yes" or len(item.reason) > 10, item
        assert item.covered == "no" or item.references, item


def test_covered_items_name_tests_that_run_their_systems():
    for item in (item for item in ITEMS if item.covered == "yes"):
        tests = [name.partition("::")[0] for kind, name in references_in(item) if kind == "test"]
        assert tests, item.item
        for system in (name for kind, name in references_in(item) if kind == "system"):
            assert any(system in Path(path).name for path in tests), (item.item, system)


def fact_ids(texts):
    """The ids that ids and ranges name: "tt14-001..tt14-018" is the eighteen from the first to the last."""
    ids = []
    for text in filter(None, texts.split(", ")):
        first, _, last = text.partition("..")
        key, number = first.split("-")
        ids += [f"{key}-{n:03d}" for n in range(int(number), int((last or first).split("-")[1]) + 1)]
    return ids


def test_every_printed_number_stands_in_an_item():
    in_items = {fact for item in ITEMS for fact in fact_ids(item.facts)}
    assert in_items == {fact.id for study in studies() for fact in study.facts}


def test_the_facts_of_an_item_are_those_of_its_study():
    studies_by_id = {fact.id: study.slug for study in studies() for fact in study.facts}
    for item in (item for item in ITEMS if item.facts):
        assert {studies_by_id[fact] for fact in fact_ids(item.facts)} == {LETTERS[item.item[0]]}, item.item


def test_no_item_stands_twice():
    assert len({item.item for item in ITEMS}) == len(ITEMS)


def test_every_study_has_its_plan_and_settings_in_items():
    for study in studies():
        letter = next(letter for letter, slug in LETTERS.items() if slug == study.slug)
        own = [item for item in ITEMS if item.item.startswith(letter)]
        assert any(f"plan:{study.slug}" in item.references for item in own)
    names = " ".join(item.item for item in ITEMS)
    for name in ("exportmeasurementsinterval", "warmupoperationcount", "reconnectiontarget", "ignoreinserterrors"):
        assert name in names


def test_it_is_honest():
    """A list in which everything is covered would have been written without reading the studies."""
    assert sum(item.covered == "no" for item in ITEMS) >= 5

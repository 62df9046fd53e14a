"""A draft becomes content: every figure drawn, every table filled, the method written, nothing in it that must not be.

The same rows and the same draft make the same content; only publishing adds the moment.
"""

import tomllib
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, cast

import tomli_w

from benchsite.accounts.models import Team
from reports.compare.figure_registry import build_figure
from reports.compare.figures.captions import describe_purpose, machine_sentence
from reports.compare.pages.answer_messages import certainty, render_text, sentence
from reports.compare.pages.charts import shown_operations
from reports.compare.pages.tables import Item, collect_verdicts, list_published, list_tables
from reports.compare.queries import build_key, get_or_compute
from reports.published import method
from reports.published.content import FORMAT, VERSION, Cells, Content, Footnote, FrozenFigure, FrozenTable, Method
from reports.published.drafts import MAX_HEADLINE, Draft, DraftFootnote
from reports.published.figures import cells, frozen_figure
from reports.published.messages import FOOTNOTE_WITHOUT_CELL, LICENCE_UNKNOWN
from reports.published.queries.sources import SourceRun, source_runs
from reports.published.redaction import Found, Redactor
from reports.published.report_sources import Material, gather
from runs.catalog import load_catalog
from runs.models import Matrix, Status
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.ycsb.redact import allow_names

WHERE: Final = "plan file"
# The tables whose keys are roles, which other entries name.
ROLES: Final = ("clusters", "generators", "databases", "workloads")


def plan_for_others(matrix: Matrix, redactor: Redactor) -> str:
    """The plan of a matrix; empty where it has none, or none is left that could be run. Six queries."""
    try:
        text = export_plan(matrix)
    except PlanRefused:
        return ""

    document = tomllib.loads(text)
    measured_versions = _read_versions(matrix)
    for database in document.get("databases", {}).values():
        # A repetition needs the measured version if none is stated.
        database["version"] = database.get("version") or measured_versions.get(database.get("name", ""), "")

    roles = set(chain.from_iterable(document.get(table, {}) for table in ROLES))
    clean_document = redactor.walk(document, WHERE, roles)
    if clean_document == tomllib.loads(text):
        return text

    comments = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))
    clean_text = f"{comments}\n{tomli_w.dumps(clean_document)}"
    try:
        read_plan(clean_text)
    except PlanRefused:
        return ""

    return clean_text


def _read_versions(matrix: Matrix) -> dict[str, str]:
    """What the server of each database answered, where it was the same all the time. One query."""
    rows = matrix.runs.filter(status=Status.SUCCEEDED, sweep__database__isnull=False)
    by_name: dict[str, set[str]] = defaultdict(set)
    for name, version in rows.values_list("sweep__database__name", "evidence__server_version").distinct():
        by_name[str(name)].add(str(version or ""))
    return {name: versions.pop() for name, versions in by_name.items() if len(versions) == 1}


@dataclass(frozen=True)
class Built:
    """What would be published now, and what its author has to know before."""

    content: Content  # without the moment of publishing
    items: tuple[Item, ...]  # everything that could be shown
    headline: str  # as the numbers propose it
    found: tuple[Found, ...]  # that outsiders perhaps should not read, and what became of it
    problems: tuple[str, ...]  # in sentences
    rows: dict[str, list[str]]  # table -> its sides, for footnotes
    columns: dict[str, list[str]]  # table -> its columns


def build(team: Team, draft: Draft, title: str) -> Built:
    """The whole report as it stands now."""
    with allow_names(team.harmless_properties):
        return _build(team, draft, title)


def _build(team: Team, draft: Draft, title: str) -> Built:
    material = gather(team, draft)
    items = {item.name: item for item in build_items(material)}
    names = chosen_names(draft, material, items)
    problems = [*material.problems, *_warn_of_licences(material)]
    missing = [name for name in draft.items if name not in items]
    if missing:
        problems.append(f"There is no {', '.join(missing)} in this comparison any more; left out.")
    headline = render_text(material.answer, MAX_HEADLINE)
    tables = [_freeze_table(item) for name, item in items.items() if item.table and name in names]
    problems += _add_footnotes(tables, draft.footnotes, items)
    runs = source_runs(material.curves)
    content: Content = {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "headline": draft.headline or headline,
        "notes": draft.notes,
        "team": team.name,
        "published_at": "",
        "demonstration": _build_demonstration(material),
        "order": names,
        "figures": [_freeze_figure(team, items[name], material) for name in names if not items[name].is_table],
        "tables": tables,
        "verdicts": collect_verdicts(material.against, material.equal, material.labels),
        "disclosures": {
            "paid_by": draft.paid_by,
            "vendor_relations": draft.vendor_relations,
            "settings_reviewed_by": draft.settings_reviewed_by,
        },
        "method": _build_method(material, runs),
        "sources": method.sources(runs, _collect_counted(material)),
    }
    if not draft.headline:
        content["findings"] = list(map(sentence, material.answer.findings))
        content["certainty"] = certainty(material.answer)
    _add_plan(content, material)
    content = _remove_secrets(content, material)
    # Whose rows are sides: these may have footnotes.
    sided = [part for part in tables if part["table"]["columns"][:1] == ["side"]]
    return Built(
        content=content,
        items=tuple(items.values()),
        headline=material.redactor.clean(headline, "headline", written=True),
        found=tuple(material.redactor.found),
        problems=tuple(problems),
        rows={part["name"]: _read_sides(part["table"]) for part in sided},
        columns={part["name"]: part["table"]["columns"] for part in sided},
    )


def _build_demonstration(material: Material) -> str:
    """The sentences that every reader must know first."""
    sentences = [text for text in (describe_purpose(material.curves), machine_sentence(material.curves)) if text]
    return " ".join(f"{sentence}." for sentence in sentences)


def _add_plan(content: Content, material: Material) -> None:
    """The plan file by which all of it can be run again; uploaded results have none."""
    if not material.matrix_id:
        return
    matrix = Matrix.objects.filter(pk=material.matrix_id).first()
    plan = plan_for_others(matrix, material.redactor) if matrix else ""
    if not (matrix and plan):
        return
    content["plan"] = plan
    if matrix.search:
        content["loads"] = {curve.name: list(curve.rungs) for curve in material.curves}


def _warn_of_licences(material: Material) -> Iterator[str]:
    """Warnings for systems whose licences restrict the publication of benchmarks, or that are not in the catalog."""
    for slug, name in sorted({(curve.system, curve.system_name) for curve in material.curves}):
        system = load_catalog().systems.get(slug)
        if system is None:
            yield LICENCE_UNKNOWN.format(system=name)
        elif system.publication:
            yield system.publication


def build_items(material: Material) -> Iterator[Item]:
    """Figures and tables, what a first reader looks for first."""
    for picture in material.pictures:
        yield Item(picture.key, picture.title, picture.says)
    yield from list_tables(material.curves, material.labels, material.against, material.equal, material.kind)
    yield from list_published(material.selection.published, material.curves, material.labels)


def chosen_names(draft: Draft, material: Material, available: Container[str]) -> list[str]:
    """The names of the figures and tables that the report has, in their order: as chosen, else the usual ones."""
    if draft.items:
        return [name for name in dict.fromkeys(draft.items) if name in available]
    latencies = [f"latency-{operation.lower()}" for operation in shown_operations(material.selection, material.curves)]
    usual = ("ceilings", *latencies, "table-against", "table-equal-load", "table-sustained")
    if any(curve.setup.arrivals for curve in material.curves):
        usual += ("table-points",)  # What was offered and dropped.
    return [name for name in usual if name in available]


def _freeze_table(item: Item) -> FrozenTable:
    assert item.table
    return {"name": item.name, "title": item.title, "says": item.says, "table": cells(item.table()), "footnotes": []}


def _freeze_figure(team: Team, item: Item, material: Material) -> FrozenFigure:
    """Drawn once for these very curves: an author looks many times, and mostly the words change."""
    pictures = {picture.key: picture for picture in material.pictures}
    picture = pictures[item.name]

    def draw() -> FrozenFigure:
        figure = build_figure(picture.name, material.curves, picture.selection, dict(picture.options))
        return frozen_figure(item.name, item.title, item.says, figure)

    parts = repr((picture, item, team.harmless_properties))
    return get_or_compute(build_key(team.pk, "frozen figure", parts, material.curves_digest), dict[str, Any], draw)


def _add_footnotes(
    tables: Sequence[FrozenTable], footnotes: Sequence[DraftFootnote], items: Mapping[str, Item]
) -> list[str]:
    """Add the footnotes to their cells; a problem for each whose cell is not there any more."""
    by_name = {table["name"]: table for table in tables}
    problems = []
    for note in footnotes:
        footnote = _locate_footnote(by_name[note.table]["table"], note) if note.table in by_name else None
        if footnote:
            by_name[note.table]["footnotes"].append(footnote)
            continue
        title = items[note.table].title if note.table in items else note.table
        problems.append(
            FOOTNOTE_WITHOUT_CELL.format(text=note.text[:60], table=title, side=note.side, column=note.column)
        )
    return problems


def _locate_footnote(table: Cells, note: DraftFootnote) -> Footnote | None:
    sides = _read_sides(table)
    if note.side not in sides or note.column not in table["columns"]:
        return None
    return {"row": sides.index(note.side), "column": table["columns"].index(note.column), "text": note.text}


def _read_sides(table: Cells) -> list[str]:
    """The first cell of each row."""
    return [str(row[0]) for row in table["rows"]]


def _collect_counted(material: Material) -> dict[object, object]:
    """Every run that is part of a number, with its curve."""
    curves: dict[object, object] = {}
    for curve in material.curves:
        curves |= dict.fromkeys(chain.from_iterable(point.run_ids for point in curve.counted), curve)
    return curves


def _build_method(material: Material, runs: list[SourceRun]) -> Method:
    submitted = material.submitted
    ordered = {curve.sweep_id: submitted[curve.sweep_id] for curve in material.curves if curve.sweep_id in submitted}
    return {
        "sentences": method.method_sentences(material.curves, material.kind, material.against, material.equal),
        "algorithms": method.algorithms(runs),
        "environment": cells(method.environment_table(ordered, material.labels)),
        "validity": cells(method.validity_table(runs)),
        "excluded": cells(method.excluded_table(runs, _collect_counted(material))),
    }


def _remove_secrets(content: Content, material: Material) -> Content:
    """The second net: every text of the content searched, whatever made it."""
    redactor = material.redactor
    clean = dict(content)
    for name in ("title", "headline", "notes"):
        clean[name] = redactor.clean(str(clean[name]), name, written=True)

    clean["disclosures"] = {
        name: redactor.clean(text, "disclosures", written=True)
        for name, text in cast(dict[str, str], content["disclosures"]).items()
    }
    for table in content["tables"]:
        for note in table["footnotes"]:
            note["text"] = redactor.clean(note["text"], "footnotes", written=True)

    for name, where in (
        ("figures", "figures"), ("tables", "tables"), ("verdicts", "ratios"), ("method", "method and environment"),
        ("demonstration", "first sentence"), ("findings", "headline"), ("certainty", "headline"),
    ):  # fmt: skip
        if name in clean:
            clean[name] = redactor.walk(clean[name], where)

    clean["sources"] = [
        {**source, "name": redactor.clean(source["name"], "names of runs")} for source in content["sources"]
    ]
    return cast(Content, clean)

"""Published reports for tests, made of rows that are measured like real ones."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from benchsite.accounts.models import Team, User
from reports.compare.curves import collect_operations
from reports.compare.figure_registry import PICTURES
from reports.compare.figures.latency import points_table
from reports.compare.queries import chosen
from reports.compare.selection import Selection
from reports.models import Report
from reports.published.content import FORMAT, VERSION, Content, Source
from reports.published.figures import cells, frozen_figure
from reports.published.links import make_link
from reports.published.publication import write_revision
from runs.models import Matrix
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep, make_workload

RUNGS = ((4, 1900.0), (8, 3800.0), (16, 3900.0))


def measured_matrix(
    team: Team,
    *,
    modes: Sequence[str] = ("off", "everysec", "always"),
    repeats: int = 3,
    purpose: str = "measured",
    name: str = "Durability of Redis",
    **fields: Any,
) -> Matrix:
    """Redis in these modes on one cluster, a ladder of three rungs each, repeated; each mode is slower."""
    cluster = make_cluster(team=team)
    database = make_database(team=team, cluster=cluster, **fields)
    workload = make_workload(team=team)
    matrix = make_matrix(
        team=team, name=name, purpose=purpose, repeats=repeats, entries=[(database, mode) for mode in modes],
        workloads=[workload],
    )  # fmt: skip
    for number, mode in enumerate(modes):
        sweep = make_sweep(matrix=matrix, database=database, workload=workload, mode=mode)
        for threads, throughput in RUNGS:
            for repeat in range(1, repeats + 1):
                scatter = 1 + 0.01 * (repeat - 2) * (1 if number % 2 else -1)
                make_run(sweep, threads=threads, repeat=repeat, throughput=throughput * scatter / (number + 1))
    return matrix


def published(
    team: Team,
    *,
    user: User | None = None,
    access: str = Report.Access.UNLISTED,
    title: str = "What durability costs Redis",
    matrix: Matrix | None = None,
    revisions: int = 1,
    expires_at: dt.datetime | None = None,
    **changes: Any,
) -> Report:
    """A published report with its link, of measured runs of the team; `changes` replace entries of its content."""
    matrix = matrix or measured_matrix(team)
    report = Report.objects.create(team=team, title=title, access=access, expires_at=expires_at, created_by=user)
    content: Content = {**some_content(team, matrix, title), **changes}  # type: ignore[typeddict-item]
    for number in range(revisions):
        headline = content["headline"] if number == 0 else f"{content['headline']} Revised {number} times."
        write_revision(report, {**content, "headline": headline}, user)
    make_link(report)
    return report


def some_content(team: Team, matrix: Matrix, title: str) -> Content:
    """The content of a report about that matrix."""
    selection = Selection(matrix=str(matrix.pk))
    curves = chosen(team, selection).curves
    figures = [
        frozen_figure(name, name.capitalize(), "how to read it", maker(curves, curves, selection, {}))
        for name, maker in PICTURES.items()
    ]
    sources: list[Source] = [
        {"run": str(key), "name": curve.label, "sha256": "0" * 64}
        for curve in curves
        for point in curve.points
        for key in point.run_ids
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "headline": "Redis always sustains 1.3k ops/s.",
        "notes": "A **note** in Markdown.",
        "team": team.name,
        "published_at": dt.datetime(2026, 11, 21, 12, 0, tzinfo=dt.UTC).isoformat(),
        "demonstration": "",
        "order": [*(figure["name"] for figure in figures), "points"],
        "figures": figures,
        "tables": [
            {
                "name": "points",
                "title": "All points",
                "says": "every rung of every sweep",
                "table": cells(points_table(curves, operations=collect_operations(curves))),
                "footnotes": [{"row": 0, "column": 5, "text": "The first rung was measured while nobody else was on."}],
            }
        ],
        "verdicts": [
            {
                "side": curve.label, "baseline": curves[0].label, "metric": "throughput", "ratio": 2.0, "low": 1.9,
                "high": 2.1, "outcome": "faster", "reason": "", "algorithm": "log-Welch 2",
            }
            for curve in curves[1:]
        ],
        "disclosures": {"paid_by": "", "vendor_relations": "none", "settings_reviewed_by": ""},
        "method": {
            "sentences": ["Each rung was measured three times."],
            "algorithms": {"interval": "log-Welch 2"},
            "environment": {"columns": ["", *(curve.label for curve in curves)], "rows": [["version", "7.0", "7.0"]]},
            "validity": {"columns": ["run", "check", "severity", "says"], "rows": []},
            "excluded": {"columns": ["run", "reason"], "rows": []},
        },
        "sources": sources,
    }  # fmt: skip

"""The sheet of a history."""

from collections import Counter

from benchsite import formatting
from reports.figures.history import COMMITS, history_figure
from reports.figures.table import Cell, Table
from reports.histories import History, HistoryPoint, Said
from reports.sheets.sheet import Sheet, sentences

NOTHING_FOLLOWED = "No run of this test that counts has measured this. Choose another metric, or look at its runs."
TABLE_ROWS = 300  # beside the picture; files have all


def history_sheet(history: History, *, along: str = COMMITS, whole: bool = False, name: str = "history") -> Sheet:
    """The picture with its words; the table beside it has the newest points, a file (`whole`) all."""
    return Sheet(
        name=name,
        draw=lambda frame: history_figure(history, frame, along=along),
        caption=caption(history),
        table=history_table(history, None if whole else TABLE_ROWS),
        empty="" if history.points and _drawable(history) else NOTHING_FOLLOWED,
    )


def _drawable(history: History) -> bool:
    return bool(history.followed) or any(run.value is not None for point in history.points for run in point.left_out)


def caption(history: History) -> str:
    """What a point is, what was left out, and by which rule changes are reported."""
    repeats = Counter(point.n for point in history.points if point.n)
    low, high = min(repeats, default=0), max(repeats, default=0)
    rule = history.metric.rule
    out, silent = history.left_out, history.unmeasured
    return sentences(
        f"{history.metric.label[:1].upper()}{history.metric.label[1:]}: each point is the median of the runs of one "
        f"commit, or of one matrix or day where no commit is known; n = {low if low == high else f'{low} to {high}'}",
        f"{out} run{'s do' if out != 1 else ' does'} not count and {'are' if out != 1 else 'is'} hollow" if out else "",
        f"{silent} run{'s' if silent != 1 else ''} did not measure this" if silent else "",
        f"Changes: E-divisive means, p below {formatting.exact(rule.max_p)}, "
        f"at least {formatting.percent(rule.min_magnitude)}",
        f"Fewer than {rule.least_history} points since the baseline: too few to say anything of changes"
        if history.course.too_short
        else "",
    )


COLUMNS = (
    "point", "commit", "branch", "first measured (UTC)", "median", "least", "greatest", "unit", "runs",
    "runs that do not count", "change (%)", "change is", "decided", "environment",
)  # fmt: skip


def history_table(history: History, most: int | None = None) -> Table:
    """A row per point, newest last; of the newest `most` only where there are more."""
    changes = {said.index: said for said in history.changes}
    environment = {one.index: one.text for one in history.environment}
    first = max(0, len(history.points) - most) if most else 0
    rows = [
        _row(history, point, changes.get(index), environment.get(index, ""))
        for index, point in enumerate(history.points[first:], first)
    ]
    return Table(COLUMNS, tuple(rows))


def _row(history: History, point: HistoryPoint, said: Said | None, environment: str) -> tuple[Cell, ...]:
    relative = said.change.relative if said else None
    return (
        point.label, point.commit, point.branch, point.at.strftime("%Y-%m-%d %H:%M:%S"), point.value, point.low,
        point.high, history.metric.unit, point.n, len(point.left_out), None if relative is None else 100 * relative,
        change_words(said) if said else "", said.state if said and said.triage else "", environment,
    )  # fmt: skip


def change_words(said: Said) -> str:
    """Better or worse, or why it does not count."""
    if said.change.weak:
        return "too uncertain or too small to count"
    if said.change.dismissed:
        return "a false alarm"
    return "better" if said.change.better else "worse"

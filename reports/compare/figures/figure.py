"""What every figure has beside its drawing: caption, table, notes, and the sentence for when nothing is there.

One class for each figure, in the module of its name. Pure: values in; the endpoints answer in the format asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from benchsite.core.formatting import listed
from benchsite.core.table import Columns, Table
from reports.compare.curves import Curve
from reports.compare.figures.captions import MAX_NOTES, Remark, collect_notes, compose_caption, list_notes
from reports.compare.figures.export_size import Medium, scaled
from reports.compare.figures.layout import Frame, PlotlyFigure
from reports.compare.figures.points import STANDING_SAYS
from reports.compare.figures.theme import PAPER, Look, looks, theme_named
from reports.compare.messages import NOTHING_CHOSEN, NOTHING_TO_DRAW, NOTHING_YET, SIDES_SHOWN

SENTENCE_PX = 120  # of a figure that has nothing but a sentence to show
MAX_NAMED = 4


class Figure(ABC):
    """One figure, ready to be drawn in either theme and at either width."""

    name: str  # of its files: "ceilings"

    @abstractmethod
    def draw(self, frame: Frame) -> PlotlyFigure:
        """The figure for plotly.js."""

    @property
    @abstractmethod
    def remarks(self) -> Sequence[Remark]:
        """Terms and sentences, the most important first; empty sentences count for nothing."""

    @property
    def caption(self) -> str:
        return compose_caption(self.remarks)[0]

    @property
    def conditions(self) -> list[Remark]:
        """The remarks that the caption has no room for."""
        return compose_caption(self.remarks)[1]

    @property
    @abstractmethod
    def table(self) -> Table: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes in the picture itself."""
        return ()

    @property
    def empty(self) -> str:
        """The sentence in place of a picture; empty where there is one."""
        return ""

    @property
    def live(self) -> bool:
        """Whether it will change by itself."""
        return False

    @property
    def height_px(self) -> int:
        """0 where the ordinary height will do."""
        return 0

    def answer(self, *, theme: str, narrow: bool, medium: Medium = "screen", linked: bool = False) -> dict[str, Any]:
        """The answer for `static/js/charts.js`. Paper is white and narrow, whatever the reader's screen is.

        `linked`: with the ids of sweeps and runs, for readers who may open them, on pages that state the notes once.
        """
        on_paper, notes = medium == "paper", () if linked and medium == "screen" else self.notes
        frame = Frame(PAPER if on_paper else theme_named(theme), narrow or on_paper, notes, linked)
        figure = None
        height = SENTENCE_PX
        if not self.empty:
            figure = scaled(self.draw(frame), medium)
            height = self.height_px

        return {
            "figure": figure,
            "caption": self.caption,
            "conditions": self.conditions,
            "table": self.table.as_dict(),
            "empty": self.empty,
            "live": self.live,
            "height": height,
        }

    def data(self) -> dict[str, Any]:
        """The JSON twin: what the picture says, without how it looks."""
        words = {"caption": self.caption, "conditions": self.conditions, "notes": list(self.notes)}
        return {"name": self.name, **words, **self.table.as_dict()}


class CurvesFigure(Figure):
    """A figure of several sweeps."""

    def __init__(self, curves: Sequence[Curve], *, highlight: str = "") -> None:
        self.curves = curves
        self.among = curves  # all that are compared, where `curves` are some of them: they decide colours and ranks
        self.highlight = highlight  # the database that has a colour where there are too many for all

    @property
    def notes(self) -> tuple[str, ...]:
        return collect_notes(self.curves)

    @property
    def conditions(self) -> list[Remark]:
        return [*super().conditions, *list_notes(self.curves)[MAX_NOTES:]]

    @property
    def empty(self) -> str:
        if not self.curves:
            return NOTHING_CHOSEN
        if any(curve.points for curve in self.curves):
            return self.lacking()
        if any(curve.progress.succeeded for curve in self.curves):
            return NOTHING_TO_DRAW
        return NOTHING_YET

    def lacking(self) -> str:
        """Why there is nothing to draw although there are points, and what to do; empty where there is."""
        return ""

    def get_looks(self, frame: Frame) -> dict[UUID, Look]:
        """By sweep, of all that are compared."""
        return looks(self.among, frame.theme, highlight=self.highlight)

    @property
    def shown_sentence(self) -> str:
        """ "10 of 40 sides are shown"; empty where all are."""
        drawn, sides = len(self.curves), len(self.among)
        if drawn < sides:
            return SIDES_SHOWN.format(drawn=drawn, sides=sides)
        return ""

    @property
    def live(self) -> bool:
        return any(curve.progress.going for curve in self.curves)


# Whose a row is: the first columns of most tables.
SIDE: Final[Columns] = {"database": "curve.database_name", "mode": "curve.mode", "workload": "curve.workload"}
RUNG: Final[Columns] = {
    "threads": lambda row: row.point.threads or None,  # 0: an upload does not tell
    "target (ops/s)": "point.target_ops_s",
    "throughput (ops/s)": "point.throughput_ops_s.geomean",
}
# Of open loads alone.
_ARRIVALS: Final[Columns] = {
    "offered (ops/s)": "point.offered_ops_s",
    "started (ops/s)": lambda row: row.point.started_ops_s,
    "dropped (share)": "point.dropped_share",
}
# What the checks and people say of a point.
STANDING: Final[Columns] = {
    "verdict": "point.verdict",
    "not counted because": lambda row: STANDING_SAYS[row.point.standing],
    "rejected, counted because": lambda row: "; ".join(row.point.overridden),
}


def arrival_columns(curves: Sequence[Curve]) -> Columns:
    """What was offered and dropped, where any side has an open load."""
    if any(curve.setup.arrivals for curve in curves):
        return _ARRIVALS
    return {}


def named(reason: str, curves: Sequence[Curve]) -> str:
    """Who is missing from a picture, and why: by name, as far as they are few."""
    names = listed([curve.label for curve in curves], MAX_NAMED)
    if not names:
        return ""
    return f"{reason[0].upper()}{reason[1:]}: {names}"

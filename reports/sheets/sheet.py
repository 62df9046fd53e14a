"""What every sheet holds, and the sentences that stand where a picture has nothing to show."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reports.curves import Curve
from reports.figures.layout import Figure, Frame
from reports.figures.medium import Medium, scaled
from reports.figures.table import Table
from reports.figures.theme import PAPER, theme_named

SENTENCE_PX = 120  # of a figure that has nothing but a sentence to show
NOTHING_CHOSEN = "No sweep is chosen. Choose a matrix, or tick sweeps in the list of sweeps."
NOTHING_YET = "Nothing has been measured yet. Points appear here as their runs end."


@dataclass(frozen=True, slots=True)
class Sheet:
    """One figure, ready to be drawn in either theme and at either width."""

    name: str  # of its files: "ceilings"
    draw: Callable[[Frame], Figure]
    caption: str
    table: Table
    notes: tuple[str, ...] = ()
    empty: str = ""  # what is said instead of a picture
    live: bool = False  # whether it will change by itself
    height_px: int = 0  # where the ordinary height will not do

    def answer(self, *, theme: str, narrow: bool, medium: Medium = "screen") -> dict[str, Any]:
        """What `static/js/charts.js` expects. Paper is white and narrow, whatever the reader's screen is."""
        on_paper = medium == "paper"
        frame = Frame(PAPER if on_paper else theme_named(theme), narrow or on_paper, self.notes)
        return {
            "figure": None if self.empty else scaled(self.draw(frame), medium),
            "caption": self.caption,
            "table": self.table.as_dict(),
            "empty": self.empty,
            "live": self.live,
            "height": SENTENCE_PX if self.empty else self.height_px,
        }

    def data(self) -> dict[str, Any]:
        """The JSON twin: what the picture says, without how it looks."""
        return {"name": self.name, "caption": self.caption, "notes": list(self.notes), **self.table.as_dict()}


def nothing_of(curves: Sequence[Curve]) -> str:
    if not curves:
        return NOTHING_CHOSEN
    return "" if any(curve.points for curve in curves) else NOTHING_YET


def is_live(curves: Sequence[Curve]) -> bool:
    return any(curve.progress.going for curve in curves)


def sentences(*parts: str) -> str:
    said = [part.rstrip(".") for part in parts if part]
    return ". ".join(said) + "." if said else ""

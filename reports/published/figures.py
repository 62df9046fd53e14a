"""A figure as it is frozen: drawn once in every theme and width, so that readers need no row and no drawing code."""

from typing import Final, cast

from benchsite.core.table import Table
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import Figure
from reports.compare.figures.layout import Frame, PlotlyFigure
from reports.published.content import Cells, FrozenFigure, build_table
from reports.published.messages import FIGURE_NOT_DRAWN
from reports.published.sanitizer import harmless

# The drawings' names in a revision -> theme, and whether it is the arrangement for a telephone.
DRAWINGS: Final = {
    "light": ("light", False),
    "dark": ("dark", False),
    "light-narrow": ("light", True),
    "dark-narrow": ("dark", True),
}


def frozen_figure(name: str, title: str, says: str, sheet: Figure) -> FrozenFigure:
    """The sheet in its four drawings with its numbers; without drawings where it has nothing to show."""
    drawn = {}
    if not sheet.empty:
        drawn = {name: sheet.answer(theme=theme, narrow=narrow)["figure"] for name, (theme, narrow) in DRAWINGS.items()}

    return {
        "name": name,
        "title": title,
        "says": says,
        "caption": sheet.caption,
        "conditions": [[term, text] for term, text in sheet.conditions],
        "notes": list(sheet.notes),
        "empty": sheet.empty,
        "height_px": 0 if sheet.empty else sheet.height_px,
        "drawn": drawn,
        "table": cells(sheet.table),
    }


class ReportFigure(Figure):
    """A figure of a revision, as it was drawn at publishing."""

    def __init__(self, figure: FrozenFigure) -> None:
        self.name = figure["name"]
        self.figure = figure

    def draw(self, frame: Frame) -> PlotlyFigure:
        drawn, theme = self.figure["drawn"], frame.theme.name
        narrow = None
        if frame.narrow:
            narrow = drawn.get(f"{theme}-narrow")
        return harmless(narrow or drawn.get(theme) or next(iter(drawn.values())))

    @property
    def remarks(self) -> list[Remark]:
        return []

    @property
    def caption(self) -> str:
        return self.figure["caption"]

    @property
    def conditions(self) -> list[Remark]:
        return [(term, text) for term, text in self.figure.get("conditions", [])]

    @property
    def table(self) -> Table:
        return build_table(self.figure["table"])

    @property
    def empty(self) -> str:
        return self.figure["empty"] or ("" if self.figure["drawn"] else FIGURE_NOT_DRAWN)

    @property
    def height_px(self) -> int:
        return self.figure["height_px"]


def cells(table: Table) -> Cells:
    """The table in the shape of a revision."""
    return cast(Cells, table.as_dict())

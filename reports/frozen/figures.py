"""A sheet as it is frozen: drawn once in every theme and width, so that readers need no row and no drawing code."""

from typing import Any, Final

from reports.figures.sheet import Sheet
from reports.figures.table import Table
from reports.frozen.content import Cells, FrozenFigure

# The drawings' names in a revision -> theme, and whether it is the arrangement for a telephone.
DRAWINGS: Final = {
    "light": ("light", False),
    "dark": ("dark", False),
    "light-narrow": ("light", True),
    "dark-narrow": ("dark", True),
}


def frozen_figure(name: str, title: str, says: str, sheet: Sheet) -> FrozenFigure:
    """The sheet in its four drawings with its numbers; without drawings where it has nothing to show."""
    return {
        "name": name,
        "title": title,
        "says": says,
        "caption": sheet.caption,
        "notes": list(sheet.notes),
        "empty": sheet.empty,
        "height_px": 0 if sheet.empty else sheet.height_px,
        "drawn": {} if sheet.empty else {name: _drawn(sheet, *how) for name, how in DRAWINGS.items()},
        "table": cells(sheet.table),
    }


def _drawn(sheet: Sheet, theme: str, narrow: bool) -> dict[str, Any]:
    figure: dict[str, Any] = sheet.answer(theme=theme, narrow=narrow)["figure"]
    return figure


def cells(table: Table) -> Cells:
    """The table in the shape of a revision."""
    said = table.as_dict()
    return {"columns": said["columns"], "rows": said["rows"]}

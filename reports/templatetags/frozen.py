"""Filters of the Markdown of a frozen report."""

from typing import Any

from django import template

from reports.published.content import Cells, Footnote, build_table
from reports.published.exports import escape_line

register = template.Library()
register.filter("line", escape_line)


@register.filter
def markdown(cells: Cells) -> str:
    return build_table(cells).as_markdown()


@register.filter
def get_column(part: dict[str, Any], note: Footnote) -> str:
    """The name of the column that a footnote is about; its number where there is none."""
    columns: list[str] = part["table"]["columns"]
    if 0 <= note["column"] < len(columns):
        return columns[note["column"]]
    return str(note["column"] + 1)

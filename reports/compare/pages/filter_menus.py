"""The menus of the compare page: a facet each, with what of it is chosen, and a chip for everything that is set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from benchsite.core.formatting import counted
from reports.compare.analysis.comparability import VARIES
from reports.compare.analysis.differences import SOURCE_SAYS
from reports.compare.selection import FACETS, LOAD, SOURCES, Selection
from runs.models import Purpose

AXIS_SAYS = {
    "mode": "durability mode",
    "database": "database",
    "nodes": "number of nodes",
    "version": "version",
    "data": "size of the data set",
    "generators": "load generators",
    "groups": "client groups",
}
TITLES = {
    "system": "System",
    "mode": "Mode",
    "class": "A write waits for",
    "workload": "Workload",
    "cluster": "Cluster",
    "version": "Version",
    "label": "Label",
    "source": "Source",
    "purpose": "Purpose",
}


@dataclass(frozen=True, slots=True)
class Menu:
    """One facet: the parameter of the address, and its values, each with its text and whether it is chosen."""

    name: str
    title: str
    options: list[tuple[str, str, bool]]

    @property
    def chosen(self) -> int:
        return sum(is_chosen for *_, is_chosen in self.options)


def menus(
    selection: Selection, choices: Mapping[str, Sequence[Any]], studies: Sequence[tuple[str, str]] = ()
) -> list[Menu]:
    """The facets that leave something to choose, then what varies and whose published results are laid over."""
    offered: dict[str, Sequence[tuple[str, str]]] = {
        **{name: [(value, value) for value in choices[name]] for name in FACETS},
        "source": [(value, SOURCE_SAYS[value]) for value in SOURCES if value in choices["source"]],
        "purpose": [(value, str(label)) for value, label in sorted(Purpose.choices) if value in choices["purpose"]],
    }
    offered_menus = [_menu(name, TITLES[name], offered[name], selection.facet(name)) for name in FACETS]
    offered_menus = [menu for menu in offered_menus if len(menu.options) > 1 or menu.chosen]
    if LOAD in choices["phase"] or selection.phase:
        offered_menus.append(
            _menu("phase", "Loads", [(LOAD, "the loads instead of what was measured")], [selection.phase])
        )

    offered_menus.append(_menu("vary", "What varies", [(axis, AXIS_SAYS[axis]) for axis in VARIES], selection.vary))
    if studies:
        offered_menus.append(_menu("published", "Published results", studies, selection.published))
    return offered_menus


def _menu(name: str, title: str, offered: Sequence[tuple[str, str]], chosen: Sequence[str]) -> Menu:
    """The menu of a filter; chosen values stay in it even where nothing has them, so that a form does not lose them."""
    unknown = [(value, value) for value in chosen if value and value not in dict(offered)]
    return Menu(name, title, [(value, text, value in chosen) for value, text in [*offered, *unknown]])


def chips(selection: Selection, menus: Sequence[Menu]) -> list[dict[str, str]]:
    """Everything that narrows or adds, each with the address that lets it go."""
    entries = []
    for menu in menus:
        for value, text, is_chosen in menu.options:
            if is_chosen:
                entries.append((menu.title, text, selection.without(menu.name, value)))

    if selection.runs:
        entries.append(("Runs", counted(len(selection.runs), "chosen run"), replace(selection, runs=())))
    if selection.since:
        entries.append(("Since", selection.since.isoformat(), replace(selection, since=None)))
    if selection.until:
        entries.append(("Until", selection.until.isoformat(), replace(selection, until=None)))
    compare = reverse("compare")
    return [{"label": label, "text": text, "href": compare + rest.query()} for label, text, rest in entries]

"""Colours of figures, light and dark, and which curve gets which colour, dash, marker and pattern.

Series colours have at least 3:1 contrast on their panel. Colour means the database, of many databases the system; dash
and marker mean the durability mode, the pattern of a bar what a power failure may take. None of them stands alone.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from benchsite.core.formatting import counted
from reports.compare.curves import Curve, durability_key

ThemeName = Literal["light", "dark"]
SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", sans-serif'


@dataclass(frozen=True, slots=True)
class Theme:
    name: ThemeName
    panel: str
    ink: str
    muted: str
    grid: str
    axis: str
    grey: str  # of curves that are there for context only
    shade: str  # of what does not count, like the warm-up
    fault: str  # of bands over planned faults
    series: tuple[str, ...]
    colourless: bool = False  # it may be printed in grey: markers then say the database, dashes alone the mode


LIGHT = Theme(
    name="light",
    panel="#ffffff",
    ink="#1b1f27",
    muted="#5b6472",
    grid="#e8ebf0",
    axis="#8b94a3",
    grey="#8f97a4",
    shade="rgba(91,100,114,0.10)",
    fault="rgba(213,94,0,0.16)",
    series=("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#882255", "#7A6A00", "#6A4C93"),
)
DARK = Theme(
    name="dark",
    panel="#15181e",
    ink="#e6e8ec",
    muted="#9aa3b2",
    grid="#262c36",
    axis="#68717f",
    grey="#7d8696",
    shade="rgba(154,163,178,0.13)",
    fault="rgba(230,159,0,0.22)",
    series=("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#DDDDDD", "#EE8866", "#9C6ADE"),
)

PAPER = replace(LIGHT, colourless=True)

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "pentagon", "star")
SHORT_COMMIT = 10  # characters
MAX_DATABASES = 5  # that have a colour each
# What a power failure may take of acknowledged writes -> the pattern of a bar.
PATTERN_SAYS = {"": "solid: loses none", "/": "hatched: may lose some", ".": "dotted: may lose any"}


def theme_named(name: str) -> Theme:
    """Light for everything that is not "dark"."""
    return DARK if name == "dark" else LIGHT


@dataclass(frozen=True, slots=True)
class Look:
    """How one curve is drawn."""

    colour: str
    dash: str
    symbol: str
    pattern: str
    label: str
    faded: bool = False  # one of more databases or systems than there are colours, and not the one that is highlighted
    group: str = ""  # what the colour stands for: the database, of many databases the system
    has_promise: bool = True  # whether it is known what its mode promises; where it is not, the pattern says nothing


def rgba(colour: str, alpha: float) -> str:
    """#rrggbb with an opacity."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def list_databases(curves: Sequence[Curve]) -> list[str]:
    return sorted({curve.database_name for curve in curves}, key=str.casefold)


def looks(curves: Sequence[Curve], theme: Theme, *, highlight: str = "") -> dict[UUID, Look]:
    """The look of every curve.

    Up to five databases have a colour each. Of more, each system has one, the fastest systems as long as there are
    colours; with a named database to highlight, or a single system, one database is highlighted - the named one, else
    the one with the highest ceiling - and the rest is grey. Modes with the same durability record share dash and marker
    across databases, the strongest promise being solid; two curves of one database never do, and a mode of which nobody
    knows what it promises shares them with none.
    """
    databases = list_databases(curves)
    groups, colours = _colours(curves, theme, highlight)
    labels = get_labels(curves)
    durabilities = {durability_key(curve.durability) for curve in curves if curve.durability}
    ranks = {key: rank for rank, key in enumerate(sorted(durabilities))}
    unknown = itertools.count(len(ranks))
    taken: set[tuple[str, int]] = set()
    looks_by_sweep: dict[UUID, Look] = {}
    for curve in curves:
        number = ranks[durability_key(curve.durability)] if curve.durability else next(unknown)
        while (curve.database_name, number) in taken:
            number += 1

        taken.add((curve.database_name, number))
        group = groups[curve.database_name]
        looks_by_sweep[curve.sweep_id] = Look(
            colour=colours[group],
            dash=DASHES[number % len(DASHES)],
            symbol=SYMBOLS[(databases.index(curve.database_name) if theme.colourless else number) % len(SYMBOLS)],
            pattern=_pattern(curve.durability),
            label=labels[curve.sweep_id],
            faded=colours[group] == theme.grey,
            group=group,
            has_promise=bool(curve.durability),
        )

    return looks_by_sweep


def _colours(curves: Sequence[Curve], theme: Theme, highlight: str) -> tuple[dict[str, str], dict[str, str]]:
    """Database -> what its colour stands for, and that -> the colour."""
    databases = list_databases(curves)
    themselves = {name: name for name in databases}
    if len(databases) <= MAX_DATABASES:
        return themselves, dict(zip(databases, theme.series, strict=False))
    if highlight in databases or len({curve.system_name for curve in curves}) < 2:
        chosen = highlight
        if highlight not in databases:
            measured = [(curve.ceiling_ops_s, curve.database_name) for curve in curves if curve.ceiling]
            _, chosen = max(measured, default=(0.0, next((curve.database_name for curve in curves), "")))
        return themselves, {name: theme.series[0] if name == chosen else theme.grey for name in databases}

    ceilings: dict[str, float] = {}
    for curve in curves:
        ceilings[curve.system_name] = max(curve.ceiling_ops_s, ceilings.get(curve.system_name, 0.0))

    leaders = sorted(ceilings, key=lambda name: -ceilings[name])[: len(theme.series)]
    coloured = dict(zip(sorted(leaders, key=str.casefold), theme.series, strict=False))
    systems = {curve.database_name: curve.system_name for curve in curves}
    return systems, {name: coloured.get(name, theme.grey) for name in ceilings}


def _pattern(durability: Mapping[str, object]) -> str:
    """One of `PATTERN_SAYS`; none where nobody knows what a mode promises."""
    if not durability:
        return ""
    window = durability.get("loss_window_s")
    if window is None:
        return "."
    if window:
        return "/"
    return ""


def get_labels(curves: Sequence[Curve]) -> dict[UUID, str]:
    """The shortest text that tells each curve from the others: database and mode, then what else differs."""
    labels = {curve.sweep_id: curve.label for curve in curves}
    for more in DISTINCTIONS:
        for group in _alike(curves, labels):
            if len({more(curve) for curve in group}) > 1:
                labels.update(
                    {curve.sweep_id: f"{labels[curve.sweep_id]} · {more(curve)}" for curve in group if more(curve)}
                )
    for group in _alike(curves, labels):
        labels.update({curve.sweep_id: f"{labels[curve.sweep_id]} #{n}" for n, curve in enumerate(group, 1)})
    return labels


DISTINCTIONS: tuple[Callable[[Curve], str], ...] = (
    lambda curve: curve.workload,
    lambda curve: "".join(f"+ {name} " for name in curve.setup.groups).strip(),
    lambda curve: counted(len(curve.setup.generators), "generator") if curve.setup.generators else "",
    lambda curve: curve.setup.version,
    lambda curve: curve.commit[:SHORT_COMMIT],
    lambda curve: curve.branch,
    lambda curve: ", ".join(curve.tags),
    lambda curve: curve.matrix_name,
    lambda curve: f"{curve.created_at:%Y-%m-%d}" if curve.created_at else "",
    lambda curve: f"{curve.created_at:%H:%M}" if curve.created_at else "",
)


def _alike(curves: Sequence[Curve], labels: Mapping[UUID, str]) -> list[list[Curve]]:
    """Groups of two and more curves that have the same label."""
    groups: dict[str, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(labels[curve.sweep_id], []).append(curve)
    return [group for group in groups.values() if len(group) > 1]

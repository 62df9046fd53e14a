"""What the machines and the servers of a run did over time, in panels on the time axis of its series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from benchsite.core import formatting
from benchsite.core.table import Cell, Table
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import Figure
from reports.compare.figures.layout import (
    Array,
    Frame,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    axis_name,
    base_layout,
    escaped,
    time_line,
)
from reports.compare.figures.run_series import Window, mark_window
from reports.compare.figures.theme import DASHES
from reports.compare.messages import SERVER_SERIES
from runs.results.measures.host import HostSamples, Samples
from runs.results.measures.server_use import HITS, MISSES

PANEL_PX: Final = 92
MARGIN_PX: Final = 110
GAP: Final = 0.22  # of a panel, between two
MAX_SERVERS: Final = 64  # on one machine
# Endings of counters' names, their units, and by what values are divided.
UNITS: Final = (
    ("_bytes_per_s", "MiB/s", 2**20), ("_per_s", "1/s", 1.0), ("_bytes", "MiB", 2**20), ("_us", "µs", 1.0),
    ("_s", "s", 1.0),
)  # fmt: skip
# Where CPU went on a machine that runs servers and clients, with the column of each.
PARTS: Final = (
    ("servers", "servers_cores"), ("clients", "clients_cores"), ("other processes", "other_cores"),
    ("I/O wait", "io_wait_cores"), ("steal", "steal_cores"),
)  # fmt: skip
MIN_SHARE: Final = 0.005  # of the cores, below which a part is not drawn


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Seconds count from the clients' common start, and are the ends of the intervals."""

    name: str
    seconds: Array
    values: Array
    title: str  # its panel's, with the unit


class ServerMetricsFigure(Figure):
    """One panel below the other. Quantities that are 0 throughout stand in the caption and in the table alone."""

    def __init__(self, name: str, lines: Sequence[Line], window: Window, *, subject: str, lacking: str = "") -> None:
        self.name = name
        self.window = window
        self.subject = subject
        self.lacking = lacking
        self.lines = [line for line in lines if np.isfinite(line.values).any()]
        moving = [line for line in self.lines if np.nanmax(np.abs(line.values)) > 0]
        self.still = [line for line in self.lines if line not in moving]
        self.panels: dict[str, list[Line]] = {}
        for line in moving:
            self.panels.setdefault(line.title, []).append(line)

    def draw(self, frame: Frame) -> PlotlyFigure:
        layout = base_layout(frame)
        number = len(self.panels)
        layout["hovermode"] = "x"
        layout["showlegend"] = any(len(lines) > 1 for lines in self.panels.values())
        layout["margin"]["b"] += 34
        layout["xaxis"] = axis(
            frame, "time since the clients' common start (s)", anchor=axis_name("y", number), showgrid=False
        )
        data: list[Trace] = []
        keyed: set[str] = set()
        for panel, (title, lines) in enumerate(self.panels.items(), 1):
            each = 1 / max(number, 1)
            domain = [round(1 - panel * each, 4), round(1 - (panel - 1 + GAP) * each, 4)]
            highest = max(float(np.nanmax(np.abs(line.values))) for line in lines)
            tickformat = "~g"
            if highest >= 1000:
                tickformat = "~s"
            layout[axis_name("yaxis", panel)] = axis(
                frame, "", domain=domain, rangemode="tozero", tickformat=tickformat, nticks=4
            )
            layout["annotations"].append(
                annotation(
                    escaped(title), frame.theme.muted, xref="paper", yref="paper", x=0, y=domain[1], xanchor="left",
                    yanchor="bottom",
                )
            )  # fmt: skip
            for rank, line in enumerate(lines):
                is_keyed = len(lines) > 1 and line.name not in keyed
                data.append(_trace(line, axis_name("y", panel), rank, frame, is_keyed=is_keyed))
                keyed.add(line.name)
        if data:
            lines = list(chain.from_iterable(self.panels.values()))
            first = min(float(line.seconds[0]) for line in lines)
            last = max(float(line.seconds[-1]) for line in lines)
            layout["xaxis"]["range"] = [min(first, 0.0), last]  # as the run's series
            mark_window(layout, first, last, self.window, frame)
            layout["annotations"] = [note for note in layout["annotations"] if note["text"] != "warm-up"]
        return {"data": data, "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        still = ", ".join(
            dict.fromkeys(line.title.partition(" (")[0] for line in self.still if line.title not in self.panels)
        )
        return [
            ("Samples", SERVER_SERIES.format(subject=self.subject)),
            ("Zero", f"0 throughout: {still}" if still else ""),
        ]

    @property
    def table(self) -> Table:
        """A row per sample and line: the second at which it ended, the panel with its unit, the line, the value."""
        rows: list[tuple[Cell, ...]] = []
        for line in self.lines:
            for second, value in zip(line.seconds.tolist(), line.values.tolist(), strict=True):
                cell = value if np.isfinite(value) else None
                rows.append((second, line.title, line.name, cell))
        return Table(("second", "quantity", "of", "value"), tuple(rows))

    @property
    def empty(self) -> str:
        if self.panels:
            return ""
        return self.lacking

    @property
    def height_px(self) -> int:
        return PANEL_PX * len(self.panels) + MARGIN_PX


def machine_lines(hosts: Sequence[HostSamples], base_s: float) -> list[Line]:
    """CPU, disk, network, memory and scheduling of the machines that run servers.

    Of a single machine both directions share a panel, and CPU is told apart by its users; of several machines each
    panel compares them.
    """
    nodes = [host for host in hosts if host.node is not None and len(host)]
    lines = []
    for host in nodes:
        seconds = host.columns["at_s"] - base_s
        for quantity, part, unit, values in _quantities(host):
            if len(nodes) == 1:
                lines.append(Line(part or quantity, seconds, values, f"{quantity} ({unit})"))
            elif part not in (label for label, _ in PARTS):
                lines.append(Line(host.machine, seconds, values, f"{f'{quantity} {part}'.strip()} ({unit})"))
    return lines


def _quantities(host: HostSamples) -> Iterator[tuple[str, str, str, Array]]:
    """What was measured, the part of it, its unit, and the values."""
    columns, cores = host.columns, max(host.cores, 1)
    if host.cores:
        yield "CPU", "", "% of the cores", 100 * np.mean([columns[f"core{n}_busy"] for n in range(cores)], axis=0)
    for label, column in PARTS:
        if column in columns and np.nanmean(columns[column]) > MIN_SHARE * cores:
            yield "CPU", label, "% of the cores", 100 * columns[column] / cores
    servers = [n for n in range(1, MAX_SERVERS + 1) if f"node{n}_cores" in columns]
    for number in servers if len(servers) > 1 else ():
        yield "CPU of servers", f"server {number}", "cores", columns[f"node{number}_cores"]
    simple = (
        ("run queue", "", "processes", "running", 1),
        ("disk utilised", "", "%", "disk_busy", 0.01),
        ("disk", "written", "MiB/s", "disk_written_bytes_s", 2**20),
        ("disk", "read", "MiB/s", "disk_read_bytes_s", 2**20),
        ("network", "sent", "MiB/s", "network_sent_bytes_s", 2**20),
        ("network", "received", "MiB/s", "network_received_bytes_s", 2**20),
        ("context switches", "", "1/s", "context_switches_s", 1),
        ("interrupts", "", "1/s", "interrupts_s", 1),
    )  # fmt: skip
    for quantity, part, unit, column, divisor in simple:
        if column in columns:
            yield quantity, part, unit, columns[column] / divisor
    if "memory_bytes" in columns:
        yield "memory in use", "", "GiB", (columns["memory_bytes"] - columns["memory_available_bytes"]) / 2**30
    for number in servers:
        if f"node{number}_memory_bytes" in columns:
            yield "memory of servers", f"server {number}", "GiB", columns[f"node{number}_memory_bytes"] / 2**30


def counter_lines(counters: Samples | None, base_s: float) -> list[Line]:
    """The hit ratio of each cache, then every counter of the servers, each in a panel of its own."""
    if counters is None or not len(counters):
        return []
    columns, seconds = counters.columns, counters.columns["at_s"] - base_s
    lines = []
    for name in columns:
        misses = name.removesuffix(HITS) + MISSES
        if name.endswith(HITS) and misses in columns:
            total = columns[name] + columns[misses]
            ratio = np.divide(100 * columns[name], total, out=np.full(total.size, np.nan), where=total > 0)
            cache = f"{name.removesuffix(HITS)}cache".replace("_", " ")
            lines.append(Line(f"{cache} hit ratio", seconds, ratio, f"{cache} hit ratio (% of reads)"))
    for name, values in columns.items():
        if name not in ("at_s", "interval_s"):
            plain, unit, divisor = _read_name(name)
            lines.append(Line(plain, seconds, values / divisor, f"{plain} ({unit})" if unit else plain))
    return lines


def _read_name(name: str) -> tuple[str, str, float]:
    """A counter's name in words, its unit, and by what its values are divided for that: "log_bytes_per_s"."""
    for ending, unit, divisor in UNITS:
        if name.endswith(ending):
            return name.removesuffix(ending).replace("_", " "), unit, divisor
    return name.replace("_", " "), "", 1.0


def _trace(line: Line, yaxis: str, rank: int, frame: Frame, *, is_keyed: bool) -> Trace:
    colour = frame.theme.series[rank % len(frame.theme.series)] if rank else frame.theme.ink
    name = escaped(line.name)
    style = {"color": colour, "width": 1.5, "dash": DASHES[rank % len(DASHES)]}
    return time_line(
        line.seconds, line.values, name, formatting.cell, style, yaxis=yaxis, showlegend=is_keyed, legendgroup=name
    )

"""Scrapes exporters of servers and machines (Prometheus, OpenMetrics) while a run measures, and reads what is pushed.

An exporter may be slow, huge or hostile: it has SCRAPE_TIMEOUT_S and MAX_BYTES for an answer, of which MAX_LINES are
read. After three failures in a row it is left alone; the run never fails by it.
"""

import math
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final
from uuid import UUID

from prometheus_client.parser import text_string_to_metric_families
from redis.exceptions import RedisError

from benchsite.core.addresses import AddressRefused
from benchsite.core.http_client import RequestFailed, Target, get
from benchsite.core.own_servers import check_url
from runs.models import Machine
from runs.results import pushed_metrics
from runs.results.measures.exporters import COUNTER, GAUGE, MAX_NAME_LENGTH, MAX_SERIES, write_samples
from workers.generator.clock import Clock
from workers.probe.messages import NOTHING_PUSHED
from workers.probe.periodic_reader import PeriodicReader
from workers.provision.administration.base import plain_text

SCRAPE_TIMEOUT_S: Final = 2.0
MAX_BYTES: Final = 4 * 2**20
MAX_LINES: Final = 20_000
MANY_SAMPLES: Final = 1_000  # of a run: one that lasts longer is scraped less often, but as often as is promised
MAX_INTERVAL_S: Final = 5.0
# 40 MB in the conductor. Of an exporter with a thousand series that is reached after seven hours: then every second
# sample is left out, of those so far and of those to come.
MAX_NUMBERS: Final = 5_000_000

# A series -> its kind and its value.
Scrape = dict[str, tuple[str, float]]


class ScrapeFailed(Exception):
    """The exporter did not answer with metrics. The message says why."""


class ExporterSampler:
    """Scrapes one exporter of a team with `networks` of its own, from its start to its stop."""

    min_interval_s = 2.0

    def __init__(
        self,
        url: str,
        *,
        networks: Sequence[str] = (),
        duration_s: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.url, self._networks, self._clock = url, networks, clock or Clock()
        self.problem = ""  # of the last scrape
        self._lock = threading.Lock()  # A failed run asks for the text while it is scraped.
        self._at_s = array("d")
        self._kinds: dict[str, str] = {}
        self._columns: dict[str, array[float]] = {}  # NaN where a scrape did not state the series
        self._scrapes, self._stride = 0, 1  # one scrape of so many is kept
        self.reader = PeriodicReader(
            "an exporter",
            self._open,
            self._add,
            interval_s=min(max(self.min_interval_s, (duration_s or 0.0) / MANY_SAMPLES), MAX_INTERVAL_S),
            error=ScrapeFailed,
        )

    @property
    def samples(self) -> int:
        return len(self._at_s)

    @property
    def text(self) -> str:
        """The samples so far, as `runs.results.measures.exporters` reads them; empty before the first."""
        with self._lock:
            return write_samples(self._kinds, self._at_s, self._columns)

    @contextmanager
    def _open(self) -> Iterator[Callable[[], Scrape]]:
        try:
            target, address = check_url(self.url, self._networks)
        except AddressRefused as error:
            self.problem = str(error)
            raise ScrapeFailed(self.problem) from None
        yield partial(self._note_problem, partial(scrape, target, address))

    def _note_problem(self, read: Callable[[], Scrape]) -> Scrape:
        try:
            return read()
        except ScrapeFailed as error:
            self.problem = str(error)
            raise

    def _sampled_at_s(self) -> float:
        return self._clock.now_s()

    def _add(self, scraped: Scrape) -> None:
        self.problem = ""
        self._scrapes += 1
        if self._scrapes % self._stride:
            return
        with self._lock:
            self._add_row(scraped)
            if len(self._at_s) * len(self._columns) > MAX_NUMBERS:
                self._thin_out()

    def _thin_out(self) -> None:
        self._stride *= 2
        self._at_s = self._at_s[1::2]
        for name, column in self._columns.items():
            self._columns[name] = column[1::2]

    def _add_row(self, scraped: Scrape) -> None:
        for name, (kind, _) in scraped.items():
            if name not in self._kinds and len(self._kinds) < MAX_SERIES:
                self._kinds[name] = kind
                self._columns[name] = array("d", [math.nan]) * len(self._at_s)
        self._at_s.append(self._sampled_at_s())
        for name, column in self._columns.items():
            _, value = scraped.get(name, ("", math.nan))
            column.append(value)


class PushSampler(ExporterSampler):
    """Reads what `benchsite-probe.py --watch` of a cluster's machine pushes."""

    min_interval_s = 1.0  # Of pushes every two seconds none is left out in a run of up to half an hour.

    def __init__(self, cluster: UUID, machine: Machine, *, duration_s: float | None = None) -> None:
        self._cluster, self._machine = cluster, machine.pk
        self._pushed_at_s = 0.0
        super().__init__(f"benchsite-probe.py --watch on {machine.name}", duration_s=duration_s)

    @contextmanager
    def _open(self) -> Iterator[Callable[[], Scrape]]:
        yield partial(self._note_problem, self._read)

    def _read(self) -> Scrape:
        """Nothing where nothing was pushed since."""
        try:
            latest = pushed_metrics.read(self._cluster, self._machine)
        except RedisError as error:
            raise ScrapeFailed(str(error)) from None
        if latest is None:
            raise ScrapeFailed(NOTHING_PUSHED.format(timeout_s=pushed_metrics.TIMEOUT_S))
        at_s, text = latest
        if at_s == self._pushed_at_s:
            return {}
        self._pushed_at_s = at_s
        return parse_metrics(text)

    def _sampled_at_s(self) -> float:
        return self._pushed_at_s

    def _add(self, scraped: Scrape) -> None:
        if scraped:
            super()._add(scraped)


def scrape(target: Target, address: str) -> Scrape:
    """What the exporter states now. Raises ScrapeFailed."""
    try:
        body = get(target, address, deadline_s=SCRAPE_TIMEOUT_S, max_bytes=MAX_BYTES)
    except RequestFailed as error:
        raise ScrapeFailed(str(error)) from None
    return parse_metrics(body.decode("utf-8", errors="replace"))


def parse_metrics(text: str) -> Scrape:
    """The series of Prometheus's text format. Buckets of histograms are left out. Raises ScrapeFailed."""
    lines = text.splitlines()[:MAX_LINES]
    scraped: Scrape = {}
    try:
        for family in text_string_to_metric_families("\n".join(lines)):
            for sample in family.samples:
                name = sample.name
                if sample.labels:
                    name += "{" + ",".join(f'{label}="{_escape(text)}"' for label, text in sample.labels.items()) + "}"
                kind = _find_kind(family.type, sample.name)
                if kind and len(name) <= MAX_NAME_LENGTH and len(scraped) < MAX_SERIES:
                    scraped[name] = kind, float(sample.value)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ScrapeFailed(f"What it answered are no metrics: {plain_text(error, 100)}") from None
    if scraped:
        return scraped
    raise ScrapeFailed("What it answered holds no metric.")


def _escape(text: str) -> str:
    return plain_text(text, MAX_NAME_LENGTH).replace("\\", "\\\\").replace('"', '\\"')


def _find_kind(type_of_family: str, name: str) -> str:
    """Whether a sample counts up or is a value of the moment; empty: it is left out."""
    if type_of_family in ("histogram", "summary", "gaugehistogram"):
        if name.endswith(("_count", "_sum")):
            return COUNTER
        return GAUGE if type_of_family == "summary" and not name.endswith("_created") else ""
    if name.endswith("_created"):
        return ""
    return COUNTER if type_of_family == "counter" else GAUGE

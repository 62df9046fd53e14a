"""Which data Benchsite may write and delete on a server under test: one rule for all systems and clients. No Django.

A data set is written only where its target (a database number, a table) is empty or its owner confirmed it. A marker
in the target says whose data set lies there and which keys it has. Data is deleted by generating these keys again, and
only with the site's own marker.
"""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from runs.ycsb.keys import KeyRange
from runs.ycsb.properties import MAX_INT
from workers.provision.administration import Administration, AdministrationError, MarkerNameTaken
from workers.provision.messages import (
    DATA_WRITTEN_AGAIN,
    MARKED_BY_OTHERS,
    MARKER_NAME_TAKEN,
    OTHER_DATA_SET,
    OTHER_RECORDS_REMAIN,
)

# Inserts that failed leave gaps behind the loaded keys. Deleting ends where so many keys in a row are absent.
MAX_GAP_KEYS = 100_000


class DataNotOwned(Exception):
    """The target holds data that Benchsite may not touch. Nothing was changed; the message says what to do."""


class DataSetMissing(Exception):
    """The target does not hold the data set that a run was to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What is written beside a data set, as JSON. Markers of earlier releases lack most of it."""

    site: str = ""
    cluster: str = ""
    table: str = ""
    fingerprint: str = ""  # of the data set, as `runs.ycsb.properties.dataset` computes it
    first: int = 0
    end: int = 0
    hashed: bool = True
    zeropadding: int = 1
    inserted: int = 0  # records that workloads may have inserted from `end` on
    inserts: bool = True  # whether workloads may have inserted more than that: nobody counted them
    was_empty: bool = False  # whether the target held nothing else when the data set was loaded
    created: bool = False  # whether Benchsite made the table
    at: str = ""

    @classmethod
    def parse(cls, text: str) -> "Marker":
        """The marker of a JSON text. What is absent or of another type has its default, so it belongs to no site."""
        content: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(text)

        if not isinstance(content, dict):
            return cls()

        defaults = asdict(cls())
        values = {name: content[name] for name in defaults if type(content.get(name)) is type(defaults[name])}
        marker = cls(**values)
        ends = [0, marker.first, marker.end, marker.end + marker.inserted, MAX_INT]
        if sorted(ends) != ends:
            return cls()

        return marker

    def text(self) -> str:
        return json.dumps(asdict(self))

    def belongs_to(self, sites: Sequence[str], cluster: str) -> bool:
        """Whether the data set is this cluster's, or none: a check made the table before a cluster was described."""
        return self.site in sites and (self.cluster == cluster or not self.fingerprint)

    def is_of_check(self, sites: Sequence[str]) -> bool:
        """Whether a check of this site made the table, which no load has used."""
        return self.created and self.site in sites and not self.fingerprint

    @property
    def keys(self) -> KeyRange:
        return KeyRange(first=self.first, end=self.end, hashed=self.hashed, zeropadding=self.zeropadding)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTarget:
    """Where the data set of a run lies, and what its owner allows.

    `name` and `remedy` are for messages: which target it is, and what the owner can do. `sites` are the marks of this
    site, today's first. `check_keys` are of records that checks write, and leave only where they are killed.
    `confirmed`: the owner allows Benchsite to write beside other data and to take over data sets.
    Every method raises AdministrationError where the server does not do what it is asked.
    """

    administration: Administration
    name: str
    remedy: str
    sites: Sequence[str]
    cluster: str
    table: str
    fields: Sequence[str]
    fingerprint: str
    keys: KeyRange
    confirmed: bool
    check_keys: Sequence[str] = ()

    def prepare_load(self) -> str:
        """Deletes the earlier data set and writes the marker of the new one, whose records a load may then write.

        Answers what remains of other data, as a sentence; empty where the target was empty. Raises DataNotOwned.
        """
        text = self._read_marker()
        marker = Marker.parse(text)
        content = text or self._read_content()
        if not self.confirmed:
            self._refuse_foreign_data(marker, text, content)
        if not content:
            self._mark(created=False, was_empty=True, replaces="")
            return ""

        marker, text = self._take_over(marker, text)
        self._for_each_key(marker, self.administration.delete_keys)
        others = self.administration.size(marker.table)
        created = marker.created
        if created and self.administration.drop_empty_table(self.table):
            created, text = False, ""
        new = self._mark(created=created, was_empty=not others, replaces=text)
        if not others:
            return ""

        # The confirmation covers other data with keys of the new data set.
        others -= self._for_each_key(new, self.administration.delete_keys)
        return OTHER_RECORDS_REMAIN.format(records=others, target=self.name)

    def require_data_set(self) -> None:
        """Raises DataSetMissing where the target does not hold the run's data set, loaded by its own cluster."""
        marker = Marker.parse(self._read_marker())
        if not self._owns(marker) or marker.fingerprint != self.fingerprint:
            raise DataSetMissing(
                f"{self.name} does not hold the data set of this run any more, or not as this cluster loaded it."
            )

    def prepare_writes(self, *, inserts: bool) -> None:
        """Before a workload that writes: raises DataNotOwned without the site's own marker or a confirmation.

        `inserts`: the workload adds records, so the marker says that there may be more than were loaded, until
        `note_inserts` says how many.
        """
        text = self._read_marker()
        marker = Marker.parse(text)
        if not self._owns(marker):
            if not self.confirmed:
                raise DataNotOwned(
                    f"The workload writes into {self.name}, whose data Benchsite did not load. "
                    f"Nothing was changed. {self.remedy}"
                )
        elif inserts and not marker.inserts:
            self._write(replace(marker, inserts=True), text)

    def note_inserts(self, records: int, *, first: int | None = None) -> None:
        """After a workload that inserted so many records at most, from number `first` on: only these, too, are the
        site's own from now on. None: from the one behind the loaded records on.
        """
        text = self._read_marker()
        marker = Marker.parse(text)
        if self._owns(marker):
            if first is not None:
                records += first - marker.end
            records = min(max(records, marker.inserted), MAX_INT - marker.end)
            self._write(replace(marker, inserts=False, inserted=records), text)

    def find_first_insert(self) -> int | None:
        """The number behind the last record, where earlier workloads inserted some and these were counted."""
        marker = Marker.parse(self._read_marker())
        end = marker.end + marker.inserted
        if self._owns(marker) and not marker.inserts and end > self.keys.end:
            return end
        return None

    def count(self) -> int | None:
        """How many of the data set's own records are there."""
        return self.count_range(self.keys.first, self.keys.end)

    def count_range(self, first: int, end: int) -> int | None:
        """How many of the records numbered from `first` up to, but without, `end` are there."""
        batches = replace(self.keys, first=first, end=end).batches(self.administration.key_batch)
        return sum(self.administration.count_keys(self.table, batch) for batch in batches)

    def _read_content(self) -> str:
        """An example of what a target without a marker holds, beside what a killed check left."""
        content = self.administration.content(self.table)
        if not content or not self.check_keys:
            return content
        with contextlib.suppress(AdministrationError):  # The table may be none of YCSB's.
            self.administration.delete_keys(self.table, self.check_keys)
        return self.administration.content(self.table)

    def _read_marker(self) -> str:
        try:
            return self.administration.read_marker(self.table)
        except MarkerNameTaken as error:
            raise DataNotOwned(MARKER_NAME_TAKEN.format(target=self.name, error=error)) from error

    def _owns(self, marker: Marker) -> bool:
        # A table that was renamed took its marker along, and is a data set that somebody wanted to keep.
        same_table = marker.table == self.table or not self.administration.has_tables
        return marker.belongs_to(self.sites, self.cluster) and same_table

    def _refuse_foreign_data(self, marker: Marker, text: str, content: str) -> None:
        if self._owns(marker):
            others = self.administration.size(marker.table)
            others -= self._for_each_key(marker, self.administration.count_keys)
            if others <= 0:
                return
            problem = f"holds {others:,} records beside the data set that Benchsite loaded"
        elif marker.site:
            problem = "holds a data set of another cluster or another Benchsite site"
        elif text:
            problem = "holds a data set of an earlier release of Benchsite"
        elif content:
            problem = f"holds data that Benchsite did not load, such as {content}"
        else:
            return
        raise DataNotOwned(f"{self.name} {problem}. Nothing was changed. {self.remedy}")

    def _take_over(self, marker: Marker, text: str) -> tuple[Marker, str]:
        """The own marker of what is about to be deleted, which is written first where there is none."""
        if self._owns(marker):
            return marker, text

        if not marker.end:
            marker = replace(marker, **asdict(self.keys))
        table = self.table
        if not self.administration.has_tables:
            table = marker.table or table
        marker = replace(marker, site=self.sites[0], cluster=self.cluster, table=table, was_empty=False)
        # Its own table is made anew, with other columns where the data set has others.
        fields = self.fields
        if marker.created:
            fields = ()
        return marker, self._write(marker, text, fields)

    def _mark(self, *, created: bool, was_empty: bool, replaces: str) -> Marker:
        """Writes the marker of the new data set, with the table where there is none."""
        marker = Marker(
            site=self.sites[0],
            cluster=self.cluster,
            table=self.table,
            fingerprint=self.fingerprint,
            inserts=False,
            was_empty=was_empty,
            created=True,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            **asdict(self.keys),
        )
        if replaces or not self.administration.create_table(self.table, self.fields, marker.text()):
            marker = replace(marker, created=created)
            self._write(marker, replaces, self.fields)

        return marker

    def _write(self, marker: Marker, replaces: str, fields: Sequence[str] = ()) -> str:
        text = marker.text()
        if not self.administration.write_marker(self.table, text, replaces=replaces, fields=fields):
            raise DataNotOwned(MARKED_BY_OTHERS.format(target=self.name, remedy=self.remedy))
        return text

    def _for_each_key(self, marker: Marker, act: Callable[[str, Sequence[str]], int]) -> int:
        """Acts on all keys of the marked data set, batch by batch; answers the sum of what it says.

        Records that a workload inserted and nobody counted are told by their keys alone. They may be somebody else's,
        so that takes a confirmation; plain numbers are left even then where the target held other data.
        """
        size = self.administration.key_batch
        first, absent = marker.end + marker.inserted, 0
        total = sum(act(marker.table, batch) for batch in replace(marker.keys, end=first).batches(size))
        if self.check_keys:
            total += act(marker.table, self.check_keys)
        if not (marker.inserts and self.confirmed and (marker.hashed or marker.was_empty)):
            return total

        while absent < MAX_GAP_KEYS:
            more = replace(marker.keys, first=first, end=first + min(size, MAX_GAP_KEYS))
            number = sum(act(marker.table, batch) for batch in more.batches(size))
            total += number
            first = more.end
            absent += more.end - more.first
            if number:
                absent = 0

        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTarget:
    """The target of a system that Benchsite cannot administer: its owner's confirmation is all that is known of it.

    `loaded` is the fingerprint of the data set that was loaded since the confirmation, empty for none and None without
    a confirmation. `inserted` is what the clients of this load wrote. Nothing is ever deleted.
    """

    name: str
    page: str  # where an admin confirms it
    fingerprint: str
    loaded: str | None
    inserted: int | None
    note_loaded: Callable[[str], None]

    def prepare_load(self) -> str:
        """Raises DataNotOwned without a confirmation, and where another data set was loaded since."""
        self.prepare_writes(inserts=True)
        if self.loaded not in ("", self.fingerprint):
            raise DataNotOwned(OTHER_DATA_SET.format(target=self.name, page=self.page))
        self.note_loaded(self.fingerprint)
        if not self.loaded:
            return ""
        return DATA_WRITTEN_AGAIN.format(target=self.name)

    def require_data_set(self) -> None:
        """Raises DataSetMissing where the run's data set was not the last one loaded since the confirmation."""
        if self.loaded != self.fingerprint:
            raise DataSetMissing(
                f"The data set of this run was not loaded into {self.name} since its owner confirmed it."
            )

    def prepare_writes(self, *, inserts: bool) -> None:
        """Raises DataNotOwned without a confirmation."""
        if self.loaded is None:
            raise DataNotOwned(
                f"Benchsite cannot look whether {self.name} holds data of somebody else. Nothing was changed. Empty it "
                f"or choose another, and let an admin of the team confirm on {self.page} that runs may write there."
            )

    def note_inserts(self, records: int, *, first: int | None = None) -> None:
        """Nothing: no marker can be kept there."""

    def find_first_insert(self) -> int | None:
        """None: no marker says how far a data set has grown."""
        return None

    def count_range(self, first: int, end: int) -> int | None:
        """None: nobody can look there."""
        return None

    def count(self) -> int | None:
        """How many records the clients of this load inserted; None of data that was there before."""
        return self.inserted

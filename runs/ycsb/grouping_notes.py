"""Notes on how files were grouped into runs: codes with their files and values, and the text of each code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_TEXTS: Final = {
    "copied": "{files[0]} states exactly what {files[1]} states.",
    "copied_by_client": "{files[0]} states exactly what {files[1]} states: it is counted once.",
    "counts_match_no_summary": (
        "{files[0]}: the run in lines {first_line:,} to {last_line:,} counts {done:,} operations, which none of the "
        "summaries here states. It is not stored."
    ),
    "no_summary": (
        "{files[0]}: the run in lines {first_line:,} to {last_line:,} ends after {done:,} operations without a "
        "summary. It is not stored."
    ),
    "logs_match_several": (
        "{logs}: these logs count what each of {summaries} summaries states, so they were left out beside {files[0]}. "
        "Put the files of each client into a folder of their own."
    ),
    "runs_in_sequence": (
        "{files[0]}: {runs} runs in it came one after the other by the dates of their status lines, so they are not "
        "clients of one run, as was stated."
    ),
    "behind_other": (
        "{files[0]}: its dates are {hours:g} h behind those of client {client}, which is another time zone: they were "
        "moved by that."
    ),
    "ahead_of_other": (
        "{files[0]}: its dates are {hours:g} h ahead of those of client {client}, which is another time zone: they "
        "were moved by that."
    ),
    "zone_changed": (
        "{files[0]}: its dates jump by {hours:g} h while its seconds go on, as where daylight saving time begins or "
        "ends: those behind were moved back."
    ),
    "may_be_other_zone": (
        "{files[0]} and {files[1]} start {hours:g} h apart and last equally long. If they are clients of one run in "
        "different time zones, state their offsets from UTC, or that all files are of one run: their dates are then "
        "moved."
    ),
    "stated_offsets_apart": (
        "{files[0]} and {files[1]} start {hours:g} h apart by the stated offsets from UTC. Check the offsets if both "
        "are clients of one run: no dates were moved but as stated."
    ),
    "offset_contradicts_logs": (
        "{files[0]}: by the stated offset from UTC its dates are {hours:g} h away from those of its histogram logs, "
        "which hold no time zone. The logs count."
    ),
    "offset_of_no_client": (
        "An offset from UTC is stated for {name}, and no file, folder or writer of lines here has this name."
    ),
    "offset_without_dates": (
        "{files[0]}: an offset from UTC is stated, and its lines have no dates, so it changes nothing."
    ),
}


@dataclass(frozen=True, slots=True)
class GroupingNote:
    code: str
    files: tuple[str, ...]
    values: Mapping[str, str | int | float] = field(default_factory=dict)

    def __str__(self) -> str:
        return _TEXTS[self.code].format(files=self.files, **self.values)

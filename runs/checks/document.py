"""The tables of docs/evidence/checks.md, made of the checks; `python -m runs.checks.document` writes them."""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from benchsite.core.formatting import THIN, enumerated
from runs.checks import RUN_CHECKS, THRESHOLDS, Check, profile
from runs.checks.check import PAIR_CHECKS, PARTS
from runs.checks.profile import PROFILES

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "evidence" / "checks.md"
_PLACE: Final = re.compile(r"(<!-- made of the checks: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(document: str) -> str:
    """The document with its tables as the checks of today make them."""
    tables = {
        "run": _checks(RUN_CHECKS),
        "loads": f"A load is judged by {_listed(RUN_CHECKS, 'loads')}. The rest says nothing about a load.\n",
        "ceilings": (
            f"Where {_listed(RUN_CHECKS, 'untrusted')} reject, throughput itself is not to be trusted: such a run\n"
            "is no evidence that its target was too much.\n"
        ),
        "pair": _checks(PAIR_CHECKS),
        "purposes": _purposes(),
    }
    return _PLACE.sub(lambda place: f"{place[1]}{tables[place[2]].replace(THIN, ' ')}{place[3]}", document)


def _checks(checks: Sequence[Check]) -> str:
    explained = [check.explained(profile("measured")) for check in checks]
    columns = [column for column in range(len(PARTS)) if any(parts[column] for parts in explained)]
    rows = [["check", *(PARTS[column].lower() for column in columns)], ["---"] * (len(columns) + 1)]
    for check, parts in zip(checks, explained, strict=True):
        rows.append([f"{check.id} {check.title[0].lower()}{check.title[1:]}", *(parts[column] for column in columns)])
    return _table(rows)


def _purposes() -> str:
    """The changes of each purpose to the thresholds and in the severities of `measured`."""
    usual = profile("measured")
    rows = [["purpose", "differs from measured in"], ["---", "---"]]
    for name, ours in PROFILES.items():
        parts = [
            f"{about.check_id}: {ours.filled(f'{{{threshold}}}')} {about.says}"
            for threshold, about in THRESHOLDS.items()
            if getattr(ours, threshold) != getattr(usual, threshold)
        ]
        if ours.window_short != usual.window_short:
            parts.append(f"E01: a short window is at most {ours.window_short}")
        by_severity = sorted(ours.at_most.items(), key=lambda item: (item[1], item[0]))
        for severity, items in groupby(by_severity, key=itemgetter(1)):
            parts.append(f"{', '.join(check_id for check_id, _ in items)}: {severity} at most")
        rows.append([name, "; ".join(parts) or "nothing"])

    return _table(rows)


def _listed(checks: Sequence[Check], flag: str) -> str:
    return enumerated([check.id for check in checks if getattr(check, flag)])


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text()))

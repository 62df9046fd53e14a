"""The tables of docs/evidence/checks.md, made of the checks; `python -m runs.checks.document` writes them."""

import re
from collections.abc import Sequence
from itertools import compress, groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from benchsite.core.formatting import THIN, enumerated
from runs.checks import RUN_CHECKS, THRESHOLDS, Check, profile
from runs.checks.check import PAIR_CHECKS, PARTS
from runs.checks.default_thresholds import PROFILES

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "evidence" / "checks.md"
_TABLE: Final = re.compile(
    r"(?P<begin><!-- made of the checks: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


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

    def fill(match: re.Match[str]) -> str:
        table = tables[match["name"]].replace(THIN, " ")
        return f"{match['begin']}{table}{match['end']}"

    return _TABLE.sub(fill, document)


def _checks(checks: Sequence[Check]) -> str:
    header = ["check", *map(str.lower, PARTS)]
    rows = []
    for check in checks:
        title = check.title[0].lower() + check.title[1:]
        rows.append([f"{check.id} {title}", *check.explained(profile("measured"))])
    filled = [any(cells) for cells in zip(*rows, strict=True)]
    table = [header, ["---"] * len(header), *rows]
    return _table([list(compress(row, filled)) for row in table])


def _purposes() -> str:
    """The changes of each purpose to the thresholds and in the severities of `measured`."""
    usual = profile("measured")
    rows = [["purpose", "differs from measured in"], ["---", "---"]]
    for name, thresholds in PROFILES.items():
        parts = [
            f"{about.check_id}: {thresholds.filled(f'{{{threshold}}}')} {about.says}"
            for threshold, about in THRESHOLDS.items()
            if getattr(thresholds, threshold) != getattr(usual, threshold)
        ]
        if thresholds.window_short != usual.window_short:
            parts.append(f"E01: a short window is at most {thresholds.window_short}")
        limits = sorted(thresholds.at_most.items(), key=itemgetter(1, 0))
        for severity, items in groupby(limits, key=itemgetter(1)):
            check_ids = ", ".join(check_id for check_id, _ in items)
            parts.append(f"{check_ids}: {severity} at most")
        rows.append([name, "; ".join(parts) or "nothing"])

    return _table(rows)


def _listed(checks: Sequence[Check], flag: str) -> str:
    return enumerated([check.id for check in checks if getattr(check, flag)])


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text()))

"""Results of `manage.py verify` by system: those that ship with the catalog, and those of this site."""

import json
import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs.catalog.loader import SYSTEMS

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verification:
    """One file of `manage.py verify`: a server of one version, its modes, and the results of their checks."""

    version: str
    how: str  # "real server", "vendor mock" or "wire stand-in"
    nodes: int
    date: str  # ISO 8601
    driver: str
    started_by_benchsite: bool
    modes: tuple[str, ...]
    counts: dict[str, int]  # passed, failed, skipped -> checks of all modes
    failures: tuple[str, ...]  # "mode: check: detail"
    not_tested: dict[str, str]  # mode -> why this server could not have it

    @property
    def label(self) -> str:
        """ "7.0.15 (real server)", "7.0.15 (real server, 2 nodes)"."""
        return f"{self.version} ({self.how}{f', {self.nodes} nodes' if self.nodes > 1 else ''})"


def verifications_of(system: str) -> list[Verification]:
    """The verifications of a system, the newest first. A file that cannot be read is logged and left out."""
    verifications = []
    shipped = (SYSTEMS / system / "verified").glob("*.json")
    for path in sorted([*shipped, *(settings.VAR_DIR / "verified").glob(f"{system}-*.json")]):
        try:
            entry = json.loads(path.read_text("utf-8"))
            if entry["system"] == system:
                verifications.append(_parse(entry))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            log.warning("%s is no result of `manage.py verify`.", path, exc_info=True)
    return sorted(verifications, key=lambda verification: verification.date, reverse=True)


def _parse(entry: dict[str, Any]) -> Verification:
    checks = [(mode, check) for mode, results in entry["modes"].items() for check in results]
    return Verification(
        version=str(entry["version"]),
        how=str(entry["how"]),
        nodes=int(entry.get("nodes", 1)),
        date=str(entry["date"]),
        driver=str(entry["driver"]),
        started_by_benchsite=bool(entry["started_by_benchsite"]),
        modes=tuple(entry["modes"]),
        counts=dict(Counter(str(check["status"]) for _, check in checks)),
        failures=tuple(
            f"{mode}: {check['check']}: {check['detail']}" for mode, check in checks if check["status"] == "failed"
        ),
        not_tested=dict(entry.get("not_tested", {})),
    )

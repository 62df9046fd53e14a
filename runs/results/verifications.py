"""Results of `manage.py verify` by system: those that ship with the catalog, and those of this site."""

import json
import logging
from collections import Counter
from typing import Any

from django.conf import settings

from runs.catalog.loader import SYSTEMS

log = logging.getLogger(__name__)


def load_verifications(system: str) -> list[dict[str, Any]]:
    """The verifications of a system, the newest first. A file that cannot be read is logged and left out.

    Each is one file of `manage.py verify`: a server of one version, its modes, and the results of their checks.
    """
    verifications = []
    shipped = (SYSTEMS / system / "verified").glob("*.json")
    for path in sorted([*shipped, *(settings.VAR_DIR / "verified").glob(f"{system}-*.json")]):
        try:
            entry = json.loads(path.read_text("utf-8"))
            if entry["system"] == system:
                verifications.append(_parse(entry))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            log.warning("%s is no result of `manage.py verify`.", path, exc_info=True)
    return sorted(verifications, key=lambda verification: verification["date"], reverse=True)


def _parse(entry: dict[str, Any]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    failures = []
    for mode, checks in entry["modes"].items():
        counts.update(str(check["status"]) for check in checks)
        failures += [f"{mode}: {check['check']}: {check['detail']}" for check in checks if check["status"] == "failed"]

    version, how, nodes = str(entry["version"]), str(entry["how"]), int(entry.get("nodes", 1))
    server = how
    if nodes > 1:
        server += f", {nodes} nodes"
    return {
        "label": f"{version} ({server})",
        "version": version,
        "how": how,  # "real server", "vendor mock" or "wire stand-in"
        "nodes": nodes,
        "date": str(entry["date"]),  # ISO 8601
        "driver": str(entry["driver"]),
        "started_by_benchsite": bool(entry["started_by_benchsite"]),
        "modes": list(entry["modes"]),
        "counts": dict(counts),  # of all modes
        "failures": failures,
        "not_tested": dict(entry.get("not_tested", {})),  # mode -> why this server could not have it
    }

"""Checks that every pinned requirement has a wheel for the Pythons that are not tested here.

Left out where there is no network, and where SKIP_WHEELS is set.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"
VERSIONS = ("3.12", "3.13", "3.14")
NO_NETWORK = re.compile(r"NewConnectionError|NameResolutionError|Max retries|unreachable|Temporary failure|timed out")


def requirements_for(version: str) -> list[str]:
    """The pins that apply to that Python; pip itself would judge the markers by the Python that runs it."""
    lines = (line.split("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    pins = [Requirement(line) for line in lines if line]
    environment = {"python_version": version, "python_full_version": f"{version}.0"}
    chosen = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)]
    return [f"{pin.name}{pin.specifier}" for pin in chosen]


def resolve(version: str) -> str:
    """What pip has to complain about that Python; empty where every pin has a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        argv += ["--no-deps", "--only-binary=:all:", "--python-version", version, "--target", folder, "--retries", "1"]
        done = subprocess.run(
            [*argv, *requirements_for(version)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    return "" if done.returncode == 0 else done.stderr.strip()


def main() -> int:
    if os.environ.get("SKIP_WHEELS"):
        print("Wheels: not checked, because SKIP_WHEELS is set.")
        return 0
    for version in VERSIONS:
        complaint = resolve(version)
        if NO_NETWORK.search(complaint):
            print("Wheels: not checked, because there is no network.")
            return 0
        if complaint:
            print(f"A pin of requirements.txt has no wheel for Python {version}:\n{complaint}", file=sys.stderr)
            return 1
    print(f"Wheels: every pin has one for Python {' and '.join(VERSIONS)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

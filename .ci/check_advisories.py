"""Checks the pinned requirements against the published advisories (pip-audit).

Left out where the advisory service cannot be reached within 20 seconds, and where SKIP_AUDIT is set. A known advisory
that does not concern this site is named in ACCEPTED, with the reason.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"
PATIENCE_S = 20
UNREACHABLE = re.compile(
    r"ConnectionError|ConnectTimeout|ReadTimeout|NewConnectionError|NameResolutionError|Max retries|unreachable"
    r"|Temporary failure|timed out|ServiceError|Could not connect|SSLError|HTTPError|JSONDecodeError"
)
EXTRAS = re.compile(r"\[.*\]")
ACCEPTED: dict[str, str] = {}  # advisory -> why it does not concern this site


def pins() -> str:
    """The pins without their markers: pip-audit would install nothing, but reads each as one package."""
    lines = (line.split("#")[0].split(";")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return "".join(EXTRAS.sub("", line) + "\n" for line in lines if line)


def judge(printed: str) -> int:
    """What pip-audit found of each pin. A pin that the service does not know is told, never taken for sound."""
    dependencies = json.loads(printed)["dependencies"]
    bad = [one for one in dependencies if one.get("vulns")]
    unknown = [one["name"] for one in dependencies if "skip_reason" in one]
    for one in bad:
        for advisory in one["vulns"]:
            fixed = ", ".join(advisory["fix_versions"]) or "no release yet"
            print(f"{one['name']} {one['version']}: {advisory['id']}, mended in {fixed}", file=sys.stderr)
    if bad:
        return 1
    if len(unknown) == len(dependencies):
        print("Advisories: not checked, because the package index here has none.")
    elif unknown:
        print(f"Advisories: none is known; not checked: {', '.join(unknown)}.")
    else:
        print("Advisories: none is known for any pin.")
    return 0


def main() -> int:
    if os.environ.get("SKIP_AUDIT"):
        print("Advisories: not checked, because SKIP_AUDIT is set.")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "pins.txt"
        listed.write_text(pins())
        argv = [sys.executable, "-m", "pip_audit", "--requirement", str(listed), "--no-deps", "--disable-pip"]
        argv += ["--progress-spinner", "off", "--timeout", "5", "--format", "json"]
        argv += [word for advisory in ACCEPTED for word in ("--ignore-vuln", advisory)]
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            print(f"Advisories: not checked, because their service did not answer in {PATIENCE_S} s.")
            return 0
    if done.stdout.lstrip().startswith("{"):
        return judge(done.stdout)
    if UNREACHABLE.search(done.stderr):
        print("Advisories: not checked, because their service cannot be reached.")
        return 0
    print(f"pip-audit failed:\n{done.stderr}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

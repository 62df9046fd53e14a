"""Measurements in a process of their own, on private servers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.speed.report import BenchmarkFailed

SITE_VARIABLES = ("DATABASE_URL", "REDIS_URL", "BENCHSITE_ARTIFACTS", "BENCHSITE_DEBUG")


def measure_separately(module: str, folder: Path, *arguments: str) -> Any:
    """Runs `python -m module` with `folder` as its site folder, and returns the JSON of its last line.

    The lines before it say how far it is, and are printed. Raises BenchmarkFailed.
    """
    environment = {name: value for name, value in os.environ.items() if name not in SITE_VARIABLES}
    environment |= {"BENCHSITE_VAR": str(folder)}
    argv = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(argv, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = ""
        for last in process.stdout:
            if not last.startswith("["):
                print(last, end="", flush=True)
    if process.returncode:
        raise BenchmarkFailed(f"{module} ended with exit code {process.returncode}: {last.strip()}")
    return json.loads(last)

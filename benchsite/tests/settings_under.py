"""The settings in an environment of their own: a process that reads them, for tests."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

KEY = "kT3vQ8wZ1xN6pR4mB9sD2fG7hJ5lC0yUaEiOqWtXnVbM"
PRODUCTION = {
    "BENCHSITE_PRODUCTION": "True",
    "BENCHSITE_URL": "https://bench.example.org",
    "BENCHSITE_PROXY": "True",
    "BENCHSITE_SECRET_KEY": KEY + KEY[::-1],
    "DATABASE_URL": "postgresql://benchsite:x@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


def python(*argv: str, var: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with nothing of this process's environment but PATH; an empty value leaves a variable out."""
    mine: Mapping[str, str] = {"PATH": os.environ["PATH"], "BENCHSITE_VAR": str(var), **environment}
    return subprocess.run(
        [sys.executable, *argv],
        cwd=settings.BASE_DIR,
        env={name: value for name, value in mine.items() if value},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def setting(expression: str, var: Path, **environment: str) -> str:
    """What the expression over `settings` says there."""
    done = python("-c", f"from benchsite import settings; print({expression})", var=var, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()

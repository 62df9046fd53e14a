"""A load generator loads neither models nor pydantic, whatever the packages of its modules import."""

import subprocess
import sys

import pytest

from workers.tests.trees import ROOT

PROGRAM = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "benchsite.settings"
import {module}
print(*(name for name in sys.modules if name in ("pydantic", "runs.models", "workers.models", "reports.models")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["workers.tasks", "benchsite.celery", "benchsite.local.__main__"])
def test_loads_no_models(module):
    program = PROGRAM.format(module=module)

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == []

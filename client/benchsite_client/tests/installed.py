"""The client as its wheel installs it: its files and what it depends on, and nothing else of this environment."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import files
from pathlib import Path
from types import MappingProxyType

import pytest
from django.conf import settings
from hatchling.builders.wheel import WheelBuilder

ROOT = settings.BASE_DIR / "client"
DEPENDENCIES = (
    "numpy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection",
    "zstandard", "pyarrow",
)  # fmt: skip


@dataclass
class Installed:
    folder: Path  # of the packages
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(
        self,
        *argv: str,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.Popen[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(self.folder)}
        return subprocess.Popen(
            [sys.executable, "-S", "-W", "error", "-m", "benchsite_client", *argv],
            cwd=self.home, env={**environment, "PYTHONUTF8": "1", **self.environment, **variables},
            stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *argv: str, stdin: str = "", timeout_s: float = 120, **variables: str) -> tuple[int, str, str]:
        """The exit code, and what was printed on both streams."""
        process = self.start(*argv, variables=variables)
        printed, complaints = process.communicate(stdin, timeout=timeout_s)
        return process.returncode, printed, complaints


def build_wheel(root: Path, folder: Path) -> Path:
    """The wheel of the package in `root`."""
    return Path(next(WheelBuilder(str(root)).build(directory=str(folder))))


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    wheel = build_wheel(ROOT, folder / "wheel")
    into = folder / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    for distribution in DEPENDENCIES:
        for name in {file.parts[0] for file in files(distribution) or ()} - {"..", "__pycache__"}:
            (into / name).symlink_to(sys.modules["numpy"].__path__[0].removesuffix("numpy") + name)
    return into


@pytest.fixture
def installed(packages: Path, tmp_path: Path) -> Installed:
    home = tmp_path / "home"
    home.mkdir()
    return Installed(packages, home)

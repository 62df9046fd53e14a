"""What the catalog declares for a binding is what the binding itself knows."""

import subprocess

import pytest

from runs.catalog import load_catalog
from workers.systems.build import ROOT, SOURCES, build, read_project
from workers.systems.manifests import java_executable

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", read_project(SOURCES).bindings)
def test_names_and_classes_are_the_same(name: str):
    manifest = build(ROOT / "var" / "ycsb", [name])[name]
    argv = [java_executable(), "-cp", ":".join(map(str, manifest.jars)), "benchsite.Start", "--properties"]
    stdout = subprocess.run([*argv, manifest.java_class], capture_output=True, text=True, check=True).stdout
    known = dict(line.split("=", 1) for line in stdout.splitlines())
    binding = load_catalog().system(name).binding
    assert binding.java_class == manifest.java_class
    assert set(binding.properties) == set(known)
    stated = {key: declared.default for key, declared in binding.properties.items() if known[key]}
    # An address is always given; every other default must be the same on both sides.
    assert stated == {key: known[key] for key in stated}

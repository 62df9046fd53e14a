"""No other account of the host reads artifacts, whatever the umask is and whichever release made the folder."""

import hashlib
import os

import pytest
from django.core.files.storage import storages

from benchsite.core.artifact_storage import artifact_storage
from runs.results import artifacts


@pytest.fixture
def folder(settings, tmp_path):
    folder = tmp_path / "artifacts"
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage(folder)}
    umask = os.umask(0)
    yield folder
    os.umask(umask)
    storages._storages.clear()


def modes(folder):
    return {oct(path.stat().st_mode & 0o777) for path in (folder, *folder.rglob("*")) if path.is_dir()}


def test_new_folders_and_files_are_closed(folder):
    artifacts.mark_storage()
    artifacts.keep(hashlib.sha256(b"secret").hexdigest(), b"secret")
    assert modes(folder) == {"0o700"}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o600}


def test_a_folder_of_an_earlier_release_is_closed(folder):
    folder.mkdir(mode=0o755)
    artifacts.mark_storage()
    assert folder.stat().st_mode & 0o777 == 0o700

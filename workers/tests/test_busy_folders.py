"""A pool process is busy while it runs a client, and not while the worker delivers what an earlier client left."""

import uuid

from workers.generator.work_folder import busy_folders, created_work_folder, opened_work_folder


def test_folder_under_delivery_is_not_busy(tmp_path):
    with created_work_folder(tmp_path, uuid.uuid4(), uuid.uuid4(), "lab-1") as folder:
        assert busy_folders(tmp_path, "lab-1") == 1
        assert busy_folders(tmp_path, "lab-2") == 0
        with opened_work_folder(folder.path) as opened:
            assert opened is None  # its client runs
        assert busy_folders(tmp_path, "lab-1") == 1
    with opened_work_folder(folder.path) as opened:
        assert opened is not None
        assert busy_folders(tmp_path, "lab-1") == 0
    with created_work_folder(tmp_path, uuid.uuid4(), uuid.uuid4(), "lab-1"):
        assert busy_folders(tmp_path, "lab-1") == 1

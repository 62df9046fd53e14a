"""A deployment that cannot be removed is removed by a later look."""

import subprocess

import pytest

from runs.models import Deployment
from runs.tests.factories import make_cluster, make_database, make_matrix
from workers.conductor import scheduling
from workers.conductor.deployment import tidy_deployment
from workers.provision.folders import deployment_folder
from workers.provision.provisioner_factory import this_site

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_removes_deployment_after_failed_attempt():
    """Its data folder is a mount point at first, which nobody can remove."""
    database = make_database(cluster=make_cluster())
    deployment = Deployment.objects.create(
        cluster=database.cluster, database=database, matrix=make_matrix(team=database.team), mode="off"
    )
    folder = deployment_folder(this_site().targets, str(deployment.pk))
    folder.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting needs root")
    try:
        with pytest.raises(OSError):
            tidy_deployment(deployment.pk)
        assert scheduling.tidy_deployments() == [deployment.pk]
    finally:
        subprocess.run(["umount", folder], check=True)
    tidy_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.state == Deployment.State.GONE and not folder.exists()

"""The table of a load has the columns that its workload names."""

import psycopg
import pytest

from runs.models import Deployment
from runs.tests.factories import WORKLOAD_A, make_database, make_run, make_sweep, make_workload
from workers.conductor.deployment import Standing

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def test_a_load_makes_the_columns_that_its_workload_names(servers, team):
    provisioner = servers("postgresql", "off")
    server = provisioner.start()
    database = make_database(team=team, system="postgresql")
    workload = make_workload(team=team, properties={**WORKLOAD_A, "fieldcount": "3", "fieldnameprefix": "f"})
    sweep = make_sweep(team=team, database=database, workload=workload, mode="off", phase="load")
    deployment = Deployment.objects.create(cluster=database.cluster, database=database, matrix=sweep.matrix, mode="off")
    Standing(deployment, provisioner, server, fresh=False).prepare_data_set(make_run(sweep, status="queued"))
    with psycopg.connect(
        host=server.host, port=server.port, user="ycsb", password=server.password, dbname="ycsb"
    ) as session:
        columns = session.execute("SELECT * FROM usertable").description
    assert columns is not None
    assert [column.name for column in columns] == ["ycsb_key", "f0", "f1", "f2"]

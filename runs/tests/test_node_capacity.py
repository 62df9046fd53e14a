"""The preview compares the data of a plan with the free disk and the memory of its nodes."""

import pytest

from runs.plans import preview, stored_plan
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)

pytestmark = pytest.mark.django_db
GIB = 2**30
SIZES = {"memory_bytes": 23 * GIB, "disk_free_bytes": 200 * GIB, "disk_total_bytes": 300 * GIB}
THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture
def messages():
    """A maker of previews: the problems and warnings about nodes of a plan over one database on one machine."""

    def make(gib, system="postgresql", provisioner="process", modes=("on",), **fields):
        team = make_team()
        facts = {name: {"value": value, "how": "observed"} for name, value in {**SIZES, **fields}.items() if value}
        machine = make_machine(name="bench-01", facts=facts)
        cluster = make_cluster(team=team, name="lab", machines=[machine], provisioner=provisioner)
        database = make_database(team=team, cluster=cluster, name="Subject", system=system)
        records = str(round(gib * GIB / 1.6 / 1000))
        matrix = make_matrix(
            team=team,
            entries=[(database, mode) for mode in modes],
            workloads=[make_workload(team=team, properties={"recordcount": records, "readproportion": "1"})],
            load_generators=[make_load_generator(bindings={"redis": "1" * 64, "postgresql": "1" * 64})],
            submitted_at=None,
        )
        answer = preview(stored_plan(matrix))
        about_nodes = [
            [text.replace(THIN, " ") for text in texts if "bench-01" in text]
            for texts in ([problem.message for problem in answer.problems], answer.warnings)
        ]
        return about_nodes[0], about_nodes[1]

    return make


def test_refuses_what_an_empty_disk_cannot_hold(messages):
    [problem], warnings = messages(2980)
    assert problem == (
        "The data needs 2.91 TiB of disk on each node of lab, and bench-01 has 185 GiB to spare of 300 GiB (runs end "
        "where a disk is 95 % full). "
        "Load fewer records, plan fewer modes in one matrix, or free space."
    )
    assert not warnings


def test_warns_of_what_does_not_fit_now(messages):
    problems, [warning] = messages(100, modes=("on", "off"))
    assert "needs 200 GiB" in warning and "185 GiB to spare" in warning
    assert not problems


def test_external_servers_are_warned_of_only(messages):
    problems, [warning] = messages(2980, provisioner="external")
    assert "2.91 TiB" in warning
    assert not problems


def test_refuses_what_memory_cannot_hold(messages):
    [problem], warnings = messages(30, system="redis", modes=("off",))
    assert problem == (
        "Subject holds its data in memory and needs 30.0 GiB on each node; bench-01 has 23.0 GiB in all. "
        "Load fewer records, or use nodes with more memory."
    )
    assert not warnings


@pytest.mark.parametrize(("gib", "facts"), [(100, {}), (1000, {"disk_free_bytes": None})], ids=["fits", "unknown"])
def test_says_nothing_of_what_fits_or_is_not_known(messages, gib, facts):
    assert messages(gib, **facts) == ([], [])


def test_the_disk_of_data_folders_counts_where_it_is_known(messages):
    problems, [warning] = messages(20, data_disk_free_bytes=10 * GIB, data_disk_total_bytes=100 * GIB)
    assert "5.00 GiB to spare of 100 GiB" in warning
    assert not problems

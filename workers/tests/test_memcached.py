"""memcached as a process, administered by the program of its binding and loaded by Benchsite's own client."""

import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from benchsite.tests.needs import need
from runs.catalog import load_catalog
from runs.models import Deployment
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep
from runs.ycsb.keys import loaded_keys
from workers.conductor.deployment import stand, stop_all
from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.ports import free_port
from workers.provision.servers import Server, ServerDidNotStart, ServerSpec
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended
from workers.tests.conftest import Servers, started_server
from workers.tests.loaded_targets import TABLE, run_client, target
from workers.tests.memcached_session import memcached_session

pytestmark = [pytest.mark.slow, pytest.mark.needs("memcached")]
SYSTEM = load_catalog().system("memcached")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["memcached"])["memcached"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    limit: dict[str, Any] = {"memory-limit": "64"}
    with started_server(SYSTEM, "none", **limit) as server:
        yield server


def is_ok(ended: Ended, operations: int) -> None:
    assert sum(sum(codes.values()) for name, codes in ended.returns.items() if name != "VERIFY") == operations
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())


def test_loads_runs_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, records=1000)
    ours.prepare_load()
    is_ok(run_client(manifest, server, tmp_path / "load", "-load"), 1000)
    # Four threads update single fields of few records: what each wrote is there, so every value is right.
    hot = {"operationcount": "2000", "recordcount": "5", "requestdistribution": "uniform"}
    is_ok(run_client(manifest, server, tmp_path / "run", "-t", **hot), 2000)
    with memcached_session(server) as session:
        assert session.ask("set stranger 0 0 1\r\nx") == "STORED"
        assert server.administration.size(TABLE) == 1001
        keys = next(iter(loaded_keys({"recordcount": "10"}).batches(10)))
        assert server.administration.delete_keys(TABLE, keys) == 10
        assert server.administration.count_keys(TABLE, [*keys, "stranger"]) == 1
        assert session.ask("delete stranger") == "DELETED"
    ours.prepare_load()


def test_reads_settings_and_topology(server: Server):
    names = {"memory-limit": "64", "threads": "4", "disable-evictions": "true", "max-item-size": "1048576"}
    assert server.administration.read_settings([*names, "absent"]) == names
    topology = server.administration.topology()
    assert topology == {
        "nodes": "1",
        "nodes_up": "1",
        "version": server.version,
        "process_ids": str(server.process["pid"]),
    }


def test_counts_hits_and_misses(server: Server):
    with server.administration.open_counters() as read, memcached_session(server) as session:
        before = read().counts
        assert session.ask("set counted 0 0 1\r\nx") == "STORED"
        session.ask("get counted")
        session.ask("get absent")
        grown = {name: number - before[name] for name, number in read().counts.items()}
        session.ask("delete counted")
    assert grown["cache_hits"] >= 1 and grown["cache_misses"] >= 1 and grown["writes"] >= 1


def test_full_server_refuses_writes(manifest: Manifest, servers: Servers, tmp_path: Path):
    """100 MB into 64 MB: without evictions nothing is dropped. On a server of its own, whose memory stays divided into
    pages for large items when these are deleted: a load of small ones would lack memory.
    """
    server = servers("memcached", "none", settings={"memory-limit": "64"}).start()
    large = {"recordcount": "1000", "fieldlength": "10000", "benchsite.ignore_insert_errors": "true"}
    ended = run_client(manifest, server, tmp_path / "load", "-load", dataintegrity="false", **large)
    codes = ended.returns["INSERT"]
    assert codes["OK"] + codes["SERVICE_UNAVAILABLE"] == 1000 and codes["OK"] > 400
    assert any("SERVER_ERROR out of memory" in line for line in ended.lines("BENCHSITE ERROR "))
    keys = next(iter(loaded_keys(large).batches(1000)))
    assert server.administration.count_keys(TABLE, keys) == codes["OK"]


def test_workloads_with_scans_are_refused(manifest: Manifest, server: Server, tmp_path: Path):
    scans = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1"}
    with pytest.raises(AssertionError, match="memcached has no ordered keys, so it cannot run a workload that scans"):
        run_client(manifest, server, tmp_path / "scan", "-t", operationcount="5", **scans)


def test_wrong_passwords_are_refused(server: Server):
    properties = server.client_properties()
    wrong = administration_for(SYSTEM, {**properties, "memcached.password": "Wrong-Horse"})
    with pytest.raises(AdministrationError, match="authentication failure") as refused:
        wrong.ping()
    assert "Wrong-Horse" not in str(refused.value)
    wrong.close()
    without = administration_for(SYSTEM, {**properties, "memcached.password": ""})
    with pytest.raises(AdministrationError, match="unauthenticated"):
        without.ping()
    without.close()


def test_keys_are_spread_over_servers_and_a_stop_loses_them(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner = servers("memcached", "none", settings={"nodes": "3"})
    server = provisioner.start()
    assert [host for host, _ in server.nodes] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    ours = target(server, records=1000)
    ours.prepare_load()
    is_ok(run_client(manifest, server, tmp_path / "load", "-load"), 1000)
    assert ours.count() == 1000 and server.administration.size(TABLE) == 1000
    shares = []
    for host, _ in server.nodes:
        with memcached_session(dataclasses.replace(server, host=host)) as session:
            shares.append(sum(session.ask(f"mg {key}") == "HD" for key in next(iter(ours.keys.batches(1000)))))
    assert sum(shares) == 1000 and min(shares) > 250
    before = server.administration.topology()
    provisioner.stop()
    again = provisioner.start()
    assert again.administration.topology() != before
    assert (target(again, records=1000).count(), again.administration.size(TABLE)) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_site_knows_that_a_stop_loses_the_data_set(manifest: Manifest):
    """So that a load is planned before the next run, which would otherwise fail first."""
    cluster = make_cluster()
    database = make_database(team=cluster.team, cluster=cluster, system="memcached")
    run = make_run(make_sweep(matrix=make_matrix(team=cluster.team), database=database, mode="none"))
    standing = stand(run, lambda: None)
    try:
        row = Deployment.objects.filter(pk=standing.deployment.pk)
        row.update(fingerprint="loaded", rows_loaded=1000)
        stop_all()
        assert row.values_list("state", "fingerprint", "rows_loaded").get() == (Deployment.State.DOWN, "", None)
    finally:
        standing.provisioner.remove()


def test_encrypts_and_shows_its_certificate(manifest: Manifest, tmp_path: Path):
    """A server that demands certificates of its clients; its own names localhost and not 127.0.0.1."""
    pem = make_certificates(tmp_path)
    port = free_port()
    argv = ["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-Z"]
    argv += ["-o", f"ssl_chain_cert={tmp_path}/server.pem,ssl_key={tmp_path}/server.key"]
    argv += ["-o", f"ssl_ca_cert={tmp_path}/ca.pem,ssl_verify_mode=2"]
    with subprocess.Popen(argv) as process:
        try:
            client = {"memcached.tls.certificate": pem["client.pem"], "memcached.tls.key": pem["client.key"]}
            ca = {"memcached.tls": "verify-ca", "memcached.tls.ca": pem["ca.pem"]}
            server = external(port, **ca, **client)
            target(server, records=100).prepare_load()
            is_ok(run_client(manifest, server, tmp_path / "load", "-load", recordcount="100"), 100)
            for properties, message in (
                (ca, "."),  # The alert is "certificate required", or the connection is closed first.
                ({**ca, **client, "memcached.tls": "verify-full"}, "No subject alternative names"),
                ({**client, "memcached.tls": "verify-ca"}, "unable to find valid certification path"),
                ({**ca, **client, "memcached.tls.key": pem["ca.pem"]}, "memcached.tls.key must be the certificate's"),
            ):
                with pytest.raises(ServerDidNotStart, match=message):
                    external(port, **properties)
        finally:
            process.kill()
            server.administration.close()


def external(port: int, **properties: str) -> Server:
    spec = ServerSpec(
        deployment="tls", system=SYSTEM, mode=SYSTEM.mode("none"), address=f"127.0.0.1:{port}",
        binding_properties=SYSTEM.check_binding_properties(properties),
    )  # fmt: skip
    return ExternalProvisioner(spec, allowed_networks=["127.0.0.0/8"]).start()


def make_certificates(folder: Path) -> dict[str, str]:
    """A CA, and certificates of a server and a client that it signed, and another client's: file names to texts."""
    need("openssl")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "2")
    openssl("req", "-x509", *key, "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=other", "-days", "2")
    for name, subject in (("server", "/CN=localhost"), ("client", "/CN=ycsb")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "2"]
        (folder / "names").write_text("subjectAltName=DNS:localhost\n" if name == "server" else "")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", "names")
    return {path.name: path.read_text() for path in folder.glob("*.*")}

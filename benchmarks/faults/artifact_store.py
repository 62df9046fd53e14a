"""The artifact store: a file system without space, and an S3-compatible service that hangs or cannot be reached."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import boto3
from botocore.config import Config

from benchmarks.faults.fault import MEASURING, fault
from benchmarks.faults.forwarder import FORWARDER
from benchmarks.faults.site import FaultSite
from workers.provision.ports import free_port

OUTAGE_S = 45.0
FILE_SYSTEM_SIZE = "64m"
BUCKET = "faults"
ACCESS_KEY, SECRET_KEY = "faults", "faults of a store that holds nothing"
PATIENT = Config(retries={"max_attempts": 10, "mode": "standard"}, connect_timeout=10)


@contextmanager
def small_file_system(site: FaultSite) -> Iterator[None]:
    """Artifacts lie in a small file system of their own. Needs root."""
    folder = site.folder / "artifacts"
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FILE_SYSTEM_SIZE}", "tmpfs", str(folder)], check=True)
    site.environment = {"BENCHSITE_ARTIFACTS": str(folder)}
    try:
        yield
    finally:
        site.down()
        site.reset()
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def s3_service(site: FaultSite) -> Iterator[None]:
    """Artifacts lie in an S3-compatible service, which the site reaches through a forwarder."""
    port, forwarder_port = free_port(), free_port()
    site.start_helper("s3", sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
    site.start_helper("forwarder", *FORWARDER, "127.0.0.1", str(forwarder_port), str(port))
    endpoint = f"http://127.0.0.1:{forwarder_port}"
    keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=endpoint, config=PATIENT, **keys).create_bucket(Bucket=BUCKET)
    site.environment = {
        "BENCHSITE_S3_BUCKET": BUCKET,
        "BENCHSITE_S3_ENDPOINT": endpoint,
        "BENCHSITE_S3_ACCESS_KEY": ACCESS_KEY,
        "BENCHSITE_S3_SECRET_KEY": SECRET_KEY,
    }
    try:
        yield
    finally:
        site.down()
        site.reset()
        site.stop_helpers()


@fault("store-full", moment=MEASURING, outage_s=OUTAGE_S, environment=small_file_system)
def _(site: FaultSite) -> Iterator[None]:
    filling = Path(site.environment["BENCHSITE_ARTIFACTS"]) / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filling.unlink()


@fault("store-slow", moment=MEASURING, outage_s=OUTAGE_S, environment=s3_service)
def _(site: FaultSite) -> Iterator[None]:
    """It accepts connections and does not answer."""
    os.kill(site.helpers["s3"].pid, signal.SIGSTOP)
    yield
    os.kill(site.helpers["s3"].pid, signal.SIGCONT)


@fault("store-unreachable", moment=MEASURING, outage_s=OUTAGE_S, environment=s3_service)
def _(site: FaultSite) -> Iterator[None]:
    """It refuses connections."""
    site.helpers["forwarder"].stop()
    yield
    site.restart_helper("forwarder")

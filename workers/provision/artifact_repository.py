"""One artifact of a Maven repository, by HTTP or from a folder. No Django."""

import base64
import hashlib
import os
import re
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterable
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from benchsite.core.formatting import size
from workers.provision.messages import NOT_IN_REPOSITORY

TIMEOUT_S: Final = 60.0
MAX_TEXT_BYTES: Final = 1 << 20  # of metadata and checksums
SNAPSHOT: Final = "-SNAPSHOT"
# The strongest first; Maven deploys at least the last.
CHECKSUMS: Final = ("sha512", "sha256", "sha1")
TARS: Final = ("tar.gz", "tgz", "tar.xz", "tar.bz2", "tar")
PACKAGINGS: Final = ("jar", "zip", *TARS)


class MavenError(Exception):
    """There is no such artifact, or it is damaged. The message says which."""


def fetch_artifact(repository: str, coordinates: str, folder: Path, *, max_bytes: int) -> Path | None:
    """Unpacks the artifact into the folder. A jar stays whole: answers its path, ARTIFACT.jar. Raises MavenError.

    `coordinates` are group:artifact:version[:packaging[:classifier]].
    """
    group, artifact, version, packaging, classifier = [*coordinates.split(":"), "", ""][:5]
    packaging = packaging or "jar"
    if packaging not in PACKAGINGS:
        raise MavenError(f"Packaging {packaging} is none of {', '.join(PACKAGINGS)}.")

    place = f"{group.replace('.', '/')}/{artifact}/{version}"
    suffix = f"-{classifier}" if classifier else ""
    file_version = version
    if version.endswith(SNAPSHOT):
        file_version = _resolve_snapshot(repository, place, version)
    name = f"{place}/{artifact}-{file_version}{suffix}.{packaging}"
    path = folder / f"{artifact}.{packaging}"
    digests = _download(repository, name, path, max_bytes)
    _verify(repository, name, digests)
    if packaging == "jar":
        return path

    try:
        _unpack(path, folder, max_bytes)
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise MavenError(f"{name} cannot be unpacked: {error}") from error

    path.unlink()
    return None


def _resolve_snapshot(repository: str, place: str, version: str) -> str:
    """The newest build of a snapshot, as the repository numbers it; a local one keeps one under its own name."""
    text = _read_text(repository, f"{place}/maven-metadata.xml")
    timestamp = re.search(r"<timestamp>([0-9.]+)</timestamp>", text)
    number = re.search(r"<buildNumber>([0-9]+)</buildNumber>", text)
    if timestamp and number:
        return f"{version.removesuffix(SNAPSHOT)}-{timestamp[1]}-{number[1]}"
    return version


def _open(repository: str, name: str):  # type: ignore[no-untyped-def]
    """The file as a context that is read in blocks. Raises OSError."""
    if not repository.startswith(("http://", "https://")):
        return (Path(repository) / name).open("rb")
    parts = urlsplit(repository)
    address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    request = urllib.request.Request(f"{address}/{name}")
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        # Not sent on to where the repository redirects.
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(secret.encode()).decode()}")
    return urllib.request.urlopen(request, timeout=TIMEOUT_S)


def _download(repository: str, name: str, path: Path, max_bytes: int) -> dict[str, str]:
    """The digests of what was written to the path."""
    digests = {algorithm: hashlib.new(algorithm) for algorithm in CHECKSUMS}
    written = 0
    try:
        with _open(repository, name) as source, path.open("wb") as target:
            while block := source.read(1 << 20):
                written += len(block)
                if written > max_bytes:
                    raise MavenError(f"{name} has more than {size(max_bytes)}.")
                target.write(block)
                for digest in digests.values():
                    digest.update(block)
    except (OSError, HTTPException) as error:
        raise MavenError(NOT_IN_REPOSITORY.format(name=name, error=error)) from error

    return {algorithm: digest.hexdigest() for algorithm, digest in digests.items()}


def _verify(repository: str, name: str, digests: dict[str, str]) -> None:
    """By the strongest checksum that the repository has. A folder of this machine may have none."""
    for algorithm in CHECKSUMS:
        stated = _read_text(repository, f"{name}.{algorithm}").split()
        if stated:
            if stated[0].lower() != digests[algorithm]:
                raise MavenError(f"{name} does not have the {algorithm} that the repository states.")
            return
    if repository.startswith(("http://", "https://")):
        raise MavenError(f"The repository has no checksum of {name}.")


def _read_text(repository: str, name: str) -> str:
    """Empty where there is none."""
    try:
        with _open(repository, name) as source:
            return str(source.read(MAX_TEXT_BYTES).decode("utf-8", "replace"))
    except (OSError, HTTPException):
        return ""


def _unpack(path: Path, folder: Path, max_bytes: int) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _refuse_large([member.file_size for member in members], max_bytes)
            for member in members:
                target = Path(archive.extract(member, folder))
                if member.external_attr >> 16 & 0o100 and target.is_file():
                    target.chmod(0o755)
        return
    with tarfile.open(path) as archive:
        _refuse_large([member.size for member in archive.getmembers()], max_bytes)
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            _extract_plain(archive, folder)


def _extract_plain(archive: tarfile.TarFile, folder: Path) -> None:
    """For Python before 3.11.4, which cannot tell a link that stays inside: files and folders alone, owned by us."""
    for member in archive.getmembers():
        is_inside = (folder / member.name).resolve().is_relative_to(folder.resolve())
        if not is_inside or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name} is a link or leads out: use Python 3.11.4 or newer for it")
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
    archive.extractall(folder)


def _refuse_large(sizes: Iterable[int], max_bytes: int) -> None:
    if sum(sizes) > max_bytes:
        raise MavenError(f"It unpacks to more than {size(max_bytes)}.")

"""Archives of the classes of a binding (Java's class data sharing), with which a client starts in half the CPU time.

A load writes the archive as it ends, because nothing of a load is measured; a binding without one starts as before.
"""

import os
from pathlib import Path

from django.conf import settings

from workers.systems.manifests import Manifest, java_executable

FOLDER = ".classes"  # beside those of the clients
DRAFT = "classes.jsa"  # in the folder of the client that writes it
# Java before 13 writes none. An archive that is damaged or does not fit is passed over, without a word on stdout.
OPTIONS = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+VerifySharedSpaces", "-Xlog:cds*=off")


def archive_path(manifest: Manifest) -> Path:
    """Its name changes with the jars and the Java, to whose times of change Java binds an archive."""
    files = (Path(java_executable()).resolve(), *manifest.jars)
    changed_ns = max(path.stat().st_mtime_ns for path in files)
    name = f"{manifest.binding.replace('/', '-')}-{manifest.digest[:12]}-{changed_ns}.jsa"
    return settings.WORK_DIR / FOLDER / name


def archive_options(manifest: Manifest, client_folder: Path, *, is_load: bool) -> tuple[str, ...]:
    """Java's options that read the archive, or that let a load write it; none where a folder is on the class path."""
    if not all(path.is_file() for path in manifest.jars):
        return ()
    archive = archive_path(manifest)
    if archive.exists():
        return (*OPTIONS, f"-XX:SharedArchiveFile={archive}")
    if is_load:
        return (*OPTIONS, f"-XX:ArchiveClassesAtExit={client_folder / DRAFT}")
    return ()


def store_archive(manifest: Manifest, client_folder: Path) -> None:
    """Keeps what a load has written, in place of what older builds left."""
    draft = client_folder / DRAFT
    archive = archive_path(manifest)
    if not draft.exists():
        return
    with draft.open("rb") as file:
        os.fsync(file.fileno())  # Java crashes on half an archive, which a power cut may leave.
    archive.parent.mkdir(exist_ok=True)
    draft.replace(archive)
    for other in archive.parent.glob(f"{manifest.binding.replace('/', '-')}-*.jsa"):
        if other != archive:
            other.unlink(missing_ok=True)

"""What a one-machine site needs in its database and folders before its parts start.

The supervisor does it in processes of their own (`benchsite.local.supervisor.in_child`): it loads no models itself.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.sign_in_link import make_link
from benchsite.core.generator_access import Access, own_file, write_access
from benchsite.core.migration import migrate_database
from runs.models import LoadGenerator
from runs.results.artifacts import mark_storage
from workers.generator import enrolment

Note = Callable[[str], None]  # takes what a task is at


def prepare(note: Note, generators: Sequence[str], site_url: str) -> dict[str, dict[str, str]]:
    """Bring database and static files up to date; the environments of the load generators by name."""
    migrate_database(lambda detail: note(f"migration {detail}"))
    ensure_demo_team()
    mark_storage()
    note("static files")
    collect_static()
    return {name: generator_environment(name, site_url) for name in generators}


def collect_static() -> None:
    """`collectstatic`, left out when no file has changed since the last time: it compresses for some seconds."""
    facts = hashlib.sha256(settings.STATIC_URL.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            stat = Path(storage.path(path)).stat()
            facts.update(f"{path}:{stat.st_size}:{stat.st_mtime_ns}\n".encode())
    stamp = Path(settings.STATIC_ROOT) / ".stamp"
    if stamp.exists() and stamp.read_text() == facts.hexdigest():
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(facts.hexdigest())


def generator_environment(name: str, site_url: str) -> dict[str, str]:
    """The variables of a load generator: its site, and the file with that, a fresh credential, and Redis.

    Its earlier life is over: it gets no run before it registers with this credential.
    """
    LoadGenerator.objects.filter(name=name).update(last_seen_at=None)
    access = Access(site_url=site_url, credential=enrolment.make(name), redis_url=settings.GENERATOR_REDIS_URL)
    path = own_file(Path(settings.VAR_DIR), name)
    write_access(path, access)
    # A site URL that the site states for load generators of other hosts is none of theirs.
    return {"BENCHSITE_GENERATOR_FILE": str(path), "BENCHSITE_SITE_URL": site_url}


def first_link(note: Note) -> str:
    """The address of a first sign-in, below the site's own."""
    _, user = ensure_demo_team()
    return make_link(user)

"""`manage.py read_upload UPLOAD CLAIM`: the child process of a conductor that reads one upload, or saves its runs."""

import contextlib
import os
import resource
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser

from runs.uploads.processing import work_on

# More than any output of YCSB needs; what needs it all the same fails alone.
MAX_MEMORY = 2 * 1024**3


class Command(BaseCommand):
    requires_system_checks = []  # They import every page, which takes two seconds of a core.
    help = "Reads one upload. Started by a conductor, which holds the claim."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("upload", type=UUID)
        parser.add_argument("claim", type=UUID)

    def handle(self, *args: Any, **options: Any) -> None:
        os.nice(19)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
        with contextlib.suppress(OSError):
            # Where the whole machine runs out of memory, this process goes first.
            Path("/proc/self/oom_score_adj").write_text("800")
        work_on(options["upload"], options["claim"])

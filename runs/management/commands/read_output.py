"""manage.py read_output: what is recognised in files of YCSB and its relatives. It needs no database."""

import json
import sys
from argparse import ArgumentParser
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from runs.ycsb import file_output, merge_output
from runs.ycsb.file_grouping import group
from runs.ycsb.output_table import table
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile

ALL_READ, REFUSED = 0, 1
STANDARD_INPUT = "-"


class Command(BaseCommand):
    help = (
        "Read outputs of YCSB, of its forks and of go-ycsb, packed or not, and show what they state: formats, runs, "
        f"operations, latencies in microseconds. Exit code {ALL_READ}: every file gave a result; {REFUSED}: one did "
        "not, and the reason is shown."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="+", help=f"a file or an archive; {STANDARD_INPUT} is standard input")
        parser.add_argument("--json", action="store_true", help="everything that was read, as one JSON document")
        parser.add_argument(
            "--merge", action="store_true", help="also merge the files: the clients of one run, load and run apart"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        files = list(chain.from_iterable(map(_read, options["file"])))
        output: dict[str, Any] = {"files": [file_output.as_json(file) for file in files]}
        if options["merge"]:
            output["merged"] = [merge_output.as_json(run) for run in group(files, together=True)]
        self.stdout.write(json.dumps(output, ensure_ascii=False, allow_nan=False) if options["json"] else table(output))
        if any(file.error is not None for file in files):
            sys.exit(REFUSED)


def _read(name: str) -> tuple[ReadFile, ...]:
    if name == STANDARD_INPUT:
        return read_file("standard input", sys.stdin.buffer)
    try:
        with Path(name).open("rb") as stream:
            return read_file(name, stream)
    except IsADirectoryError:
        return (ReadFile(name, error="This is a folder: name the files in it."),)
    except OSError as error:
        return (ReadFile(name, error=f"The file cannot be opened: {error.strerror}."),)

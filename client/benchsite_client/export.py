"""Write runs as CSV, JSON or Parquet: one row for each run, with the latencies of each operation."""

import argparse
import csv
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, BinaryIO, Final

from benchsite_client import messages
from benchsite_client.site import Client, read_login
from benchsite_client.upload import CHUNK, PASS, UPLOAD_FAILED, USAGE, Ended, say

FILTERS: Final = (
    "system", "database", "mode", "workload", "commit", "branch", "label", "status", "verdict", "source", "phase",
    "matrix", "sweep", "since", "until",
)  # fmt: skip
INTEGERS: Final = ("threads", "target_ops_s", "repeat")
TIMES: Final = ("created_at", "started_at", "finished_at", "committed_at")
NUMBERS: Final = ("_us", "throughput_ops_s")  # how the names of columns with fractions end


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-o", "--output", metavar="PATH", help="file to write (default: standard output)")
    add("--format", choices=tuple(WRITERS), help="default: as the file's name ends, else csv")
    for name in FILTERS:
        add(
            f"--{name}",
            metavar="TEXT",
            help=f"only runs with this {name}"
            if name not in ("since", "until")
            else f"only runs that were made {name} this time, such as 2026-03-01",
        )
    add("--json", action="store_true", help="print what was written as JSON; needs --output")


def run(options: argparse.Namespace) -> int:
    form = options.format or _guess_format(options.output)
    if not options.output and (form == "parquet" or options.json):
        raise Ended(USAGE, messages.NO_OUTPUT)
    write = WRITERS[form]
    if form == "parquet":
        _import_pyarrow()
    client = Client(read_login())
    query = {name: getattr(options, name) for name in FILTERS}
    try:
        with (
            _open_output(options.output) as output,
            client.stream("runs/export", form=SITE_FORMS[form], **query) as answer,
        ):
            write(answer, output)
    except (HTTPException, ConnectionError, TimeoutError):
        raise Ended(UPLOAD_FAILED, messages.EXPORT_BROKE_OFF) from None
    if options.output:
        _report(Path(options.output), form, as_json=options.json)
    return PASS


def _guess_format(output: str | None) -> str:
    suffix = Path(output or "").suffix.lstrip(".").lower()
    if suffix in WRITERS:
        return suffix
    return "csv"


@contextmanager
def _open_output(path: str | None) -> Iterator[BinaryIO]:
    """The file, which is there when it is whole; standard output where there is none."""
    if not path:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = Path(f"{path}.part")
    try:
        with draft.open("wb") as output:
            yield output
        draft.replace(path)
    except OSError as error:
        if isinstance(error, ConnectionError | TimeoutError):
            raise
        raise Ended(USAGE, messages.UNWRITABLE.format(path=path, reason=error.strerror)) from None
    finally:
        draft.unlink(missing_ok=True)


def _report(path: Path, form: str, *, as_json: bool) -> None:
    size = path.stat().st_size
    if as_json:
        print(json.dumps({"path": str(path), "format": form, "bytes": size}))
    else:
        say(messages.EXPORTED.format(path=path, size=size), sys.stderr)


def _write_csv(answer: HTTPResponse, output: BinaryIO) -> None:
    header = answer.readline()
    _refuse_nothing(answer)
    output.write(header)
    shutil.copyfileobj(answer, output, CHUNK)


def _write_json(answer: HTTPResponse, output: BinaryIO) -> None:
    """An array of the lines, whose last line break is held back."""
    _refuse_nothing(answer)
    block = answer.read(CHUNK)
    output.write(b"[\n")
    while following := answer.read(CHUNK):
        output.write(block.replace(b"\n", b",\n"))
        block = following
    output.write(block.removesuffix(b"\n").replace(b"\n", b",\n"))
    output.write(b"\n]\n")


def _write_parquet(answer: HTTPResponse, output: BinaryIO) -> None:
    pyarrow = _import_pyarrow()
    from pyarrow import parquet

    names = next(csv.reader([answer.readline().decode()]))
    _refuse_nothing(answer)
    batches = pyarrow.csv.open_csv(
        answer,
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=1 << 22),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: _get_type(pyarrow, name) for name in names},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    with parquet.ParquetWriter(output, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


def _refuse_nothing(answer: HTTPResponse) -> None:
    """Raises Ended where the answer holds no more."""
    if not answer.peek(1):
        raise Ended(USAGE, messages.NOTHING_TO_EXPORT)


def _get_type(pyarrow: Any, name: str) -> Any:
    if name in INTEGERS:
        return pyarrow.int64()
    if name in TIMES:
        return pyarrow.timestamp("us", tz="UTC")
    if name.endswith(NUMBERS):
        return pyarrow.float64()
    return pyarrow.string()


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise Ended(USAGE, messages.NO_PYARROW) from None
    return pyarrow


WRITERS: Final[dict[str, Callable[[HTTPResponse, BinaryIO], None]]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
SITE_FORMS: Final = {"csv": "csv", "json": "jsonl", "parquet": "raw"}

"""`benchsite export`: the same runs as CSV, JSON and Parquet, whole or not at all."""

import csv
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings

from benchsite_client.tests.installed import installed, packages
from runs.tests.factories import make_run, make_sweep
from runs.tests.programs import get_token

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
__all__ = ["installed", "packages"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
TEXTS = ("plain", 'a "quoted", text\nof two lines', "=1+1", "")


@pytest.fixture
def runs(team):
    sweep = make_sweep(team=team)
    return [
        make_run(sweep, threads=number, throughput=1000.5 * number, notes=text) for number, text in enumerate(TEXTS, 1)
    ]


@pytest.fixture
def signed_in(installed, live_server, team, user):
    installed.environment = {"BENCHSITE_URL": live_server.url, "BENCHSITE_TOKEN": get_token(team, user)}
    return installed


@pytest.mark.parametrize("name", ["runs.csv", "runs.json", "runs.parquet"])
def test_formats_have_the_same_rows(signed_in, runs, name):
    code, printed, complaints = signed_in.run("export", "-o", name, "--json")
    path = signed_in.home / name
    if name.endswith("csv"):
        with path.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
    elif name.endswith("json"):
        rows = json.loads(path.read_text())
    else:
        rows = parquet.read_table(path).to_pylist()

    assert (code, complaints) == (0, "")
    assert json.loads(printed)["bytes"] == path.stat().st_size
    assert [row["id"] for row in rows] == [str(run.pk) for run in runs]
    assert [float(row["throughput_ops_s"]) for row in rows] == [1000.5, 2001, 3001.5, 4002]
    marked = [f"'{text}" if text.startswith("=") and name.endswith("csv") else text for text in TEXTS]
    assert [row["notes"] for row in rows] == marked


def test_parquet_has_types_and_nulls(signed_in, runs):
    assert signed_in.run("export", "-o", "runs.parquet")[0] == 0

    table = parquet.read_table(signed_in.home / "runs.parquet")

    assert table.schema.field("threads").type == pyarrow.int64()
    assert table.schema.field("created_at").type == pyarrow.timestamp("us", tz="UTC")
    assert table.schema.field("READ_p99_us").type == pyarrow.float64()
    assert table.column("created_at")[0].as_py() == runs[0].created_at
    assert table.column("target_ops_s").null_count == len(runs)


def test_filters_and_prints(signed_in, runs):
    code, printed, _ = signed_in.run("export", "--format", "json", "--status", "succeeded", "--mode", runs[0].mode)

    assert code == 0 and len(json.loads(printed)) == len(runs)


@pytest.mark.parametrize("name", ["runs.csv", "runs.json", "runs.parquet"])
def test_nothing_is_one_sentence_and_no_file(signed_in, runs, name):
    code, _, complaints = signed_in.run("export", "--system", "none", "-o", name)

    assert (code, complaints) == (2, "benchsite: No run matches: nothing was written.\n")
    assert list(signed_in.home.glob("runs*")) == []


def test_wrong_filter_and_place_are_one_sentence(signed_in, runs):
    for arguments, message in (
        (("--status", "odd"), "HTTP 400"),
        (("-o", "no/runs.csv"), "no/runs.csv cannot be written: No such file or directory."),
        (("--format", "parquet"), "State the file to write with --output."),
    ):
        code, _, complaints = signed_in.run("export", *arguments)
        assert code == 2 and message in complaints, complaints
    assert list(signed_in.home.glob("runs*")) == []


def test_parquet_without_pyarrow_is_one_sentence(signed_in, runs, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError")

    code, _, complaints = signed_in.run("export", "-o", "r.parquet", PYTHONPATH=f"{tmp_path}:{signed_in.folder}")

    assert (code, complaints) == (2, 'benchsite: Parquet needs pyarrow: pipx install "./client[parquet]".\n')


class Broken(BaseHTTPRequestHandler):
    """Ends in the middle of its second piece, as a worker that is killed does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        rows = b"id,threads\n" + b"1,2\n" * 5000
        self.wfile.write(b"%x\r\n%s\r\n%x\r\n1,2" % (len(rows), rows, len(rows)))
        self.close_connection = True

    def log_message(self, *_) -> None:
        pass


@pytest.mark.parametrize("name", ["runs.csv", "runs.json", "runs.parquet"])
def test_an_answer_that_breaks_off_leaves_no_file(installed, name):
    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.02,))
        thread.start()
        address = f"http://127.0.0.1:{site.server_address[1]}"
        code, _, complaints = installed.run("export", "-o", name, BENCHSITE_URL=address, BENCHSITE_TOKEN="bs_x")
        site.shutdown()
        thread.join()

    assert (code, complaints) == (
        3, "benchsite: The site's answer ended early: nothing was written. Run it again.\n",
    )  # fmt: skip
    assert list(installed.home.glob("runs*")) == []


def test_notebook_draws_both_figures(signed_in, team, monkeypatch):
    """Its cells as they stand, with the Parquet of the client."""
    sweep = make_sweep(team=team)
    for threads, rates in {2: (1000.0, 1100.0, 1200.0), 4: (1500.0, 1600.0, 1700.0)}.items():
        for repeat, rate in enumerate(rates, 1):
            make_run(sweep, threads=threads, repeat=repeat, throughput=rate)
    make_run(sweep, threads=4, repeat=9, throughput=99_999.0, excluded_reason="another job ran")
    assert signed_in.run("export", "-o", "runs.parquet")[0] == 0
    monkeypatch.setenv("BENCHSITE_PARQUET", str(signed_in.home / "runs.parquet"))
    notebook = json.loads((settings.BASE_DIR / "docs" / "notebooks" / "figures.ipynb").read_text())
    names: dict[str, object] = {}

    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)

    latency, ceilings = names["latency"].to_dict(), names["ceilings"].to_dict()
    (curve,), (bar,) = latency["data"], ceilings["data"]
    assert list(curve["x"]) == [1100, 1600] and list(curve["error_x"]["array"]) == [100, 100]
    assert list(bar["y"]) == [1600] and "n = 3, the last rung" in bar["text"][0]

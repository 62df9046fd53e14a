"""Whatever a program sends: it is stored as it is meant, or refused with a reason, and nothing is left in halves."""

import gzip
import io
import json
import random
import zlib

import pytest

from runs.models import Artifact, Measurement, Run, Sweep, Upload, UploadKey
from runs.tests.importing import DATA, import_folder, summary
from runs.tests.pages import get_text
from runs.tests.programs import MANIFEST, MULTIPART, multipart, read_answer
from runs.uploads.judgement import MAX_OPERATIONS

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]
ROWS = (Upload, Run, Sweep, Artifact, UploadKey)
UGLY = [
    "<script>alert(1)</script>", "{{ 7|add:7 }}", "=cmd|' /C calc'!A0", "+1", "@SUM(1)", "שלום", "العربية",
    "🚀👩‍💻", "a" * 80, "Robert'); DROP TABLE runs_run;--", "%s %d", "../../etc/passwd",
]  # fmt: skip
REFUSED = ["a\u0000b", "a\u202eb", "a\u0007b", "a" * 81]


def rows():
    return [model.objects.count() for model in ROWS]


@pytest.mark.parametrize("name", UGLY)
def test_names_are_text(program, client_in, name):
    answer = read_answer(
        program.post(
            (f"{name}.txt", summary()), database=name, labels=[name[:40]], notes=name, branch=name,
            workload={"name": name, "records": 5}, version=name[:40], cluster={"hardware": name},
        ),
        201,
    )  # fmt: skip
    page = get_text(client_in.get(f"/runs/{answer['runs'][0]['id']}/"))
    assert "<script>alert(1)" not in page
    assert "14" not in name
    assert Run.objects.get().branch == name


@pytest.mark.parametrize("name", REFUSED)
def test_signs_that_no_name_has_are_refused(program, name):
    for field in ("database", "version", "branch"):
        problem = read_answer(program.post(**{field: name * (2 if field == "branch" else 1)}), 400)
        assert problem["errors"][0]["pointer"] == f"#/manifest/{field}"
    assert rows() == [0] * 5


@pytest.mark.parametrize(
    ("changes", "pointer", "says"),
    [
        ({"sytem": "redis"}, "#/manifest/sytem", "Did you mean “system”?"),
        ({"system": "redsi"}, "#/manifest/system", "Did you mean “redis”?"),
        ({"mode": "allways"}, "#/manifest/mode", "Did you mean “always”?"),
        ({"purpose": "measure"}, "#/manifest/purpose", "Did you mean “measured”?"),
        ({"threads": "8"}, "#/manifest/threads", "integer"),
        ({"threads": 0}, "#/manifest/threads", "greater than or equal to 1"),
        ({"threads": 10**30}, "#/manifest/threads", "less than or equal"),
        ({"cluster": {"cores": -1}}, "#/manifest/cluster/cores", "greater"),
        ({"cluster": []}, "#/manifest/cluster", ""),
        ({"ci_url": "javascript:alert(1)"}, "#/manifest/ci_url", "https://"),
        ({"ci_url": "https://user:hush@ci/"}, "#/manifest/ci_url", "password"),
        ({"commit": "a b"}, "#/manifest/commit", "4 to 64"),
        ({"labels": ["x" * 41]}, "#/manifest/labels", "40"),
        ({"labels": [str(n) for n in range(21)]}, "#/manifest/labels", "20"),
        ({"workload": {"properties": {"readproportion": "much"}}}, "#/manifest/workload/properties/readproportion", ""),
        ({"runs": [{}, {}]}, "#/manifest/runs", "2 are stated"),
        ({"sweep": "x"}, "#/manifest/sweep", "no uploaded curve"),
        ({"system": "other"}, "#/manifest/system_name", "Name the other system"),
    ],
)
def test_a_manifest_is_refused_with_the_place(program, changes, pointer, says):
    problem = read_answer(program.post(**changes), 400)
    assert problem["type"] == "/problems/validation-error"
    assert pointer in [error["pointer"] for error in problem["errors"]], problem
    assert says in json.dumps(problem, ensure_ascii=False)
    assert rows() == [0] * 5


def test_first_of_several_tests_does_not_decide(program):
    other = summary(reads=95_000, updates=5_000).replace(b"RedisClient", b"MongoDbClient")
    files = (("a.txt", summary()), ("b.txt", other.replace(b"workloada", b"workloadb")))

    problem = read_answer(program.post(*files, system=..., mode=..., workload=..., grouping="apart"), 400)

    faults = {error["pointer"]: error["detail"] for error in problem["errors"]}
    assert "(mongodb, redis)" in faults["#/manifest/system"] and "(A, B)" in faults["#/manifest/workload"]
    assert rows() == [0] * 5


@pytest.mark.parametrize(
    "manifest", [b"", b"{", b"[]", b"null", b"7", b'{"threads": NaN}', b"[" * 60_000, b"\xff\xfe", b'{"a": "\\ud800"}']
)
def test_a_manifest_of_the_wrong_shape_is_refused(program, manifest):
    body = multipart(manifest, [("a.txt", summary())])
    sent = program.headers(**{"Idempotency-Key": "k"})
    assert read_answer(program.client.post("/api/v1/runs", body, content_type=MULTIPART, headers=sent), 400)
    assert rows() == [0] * 5


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", MULTIPART, 415),  # The client sends no type with it.
        (b"{}", "application/json", 415),
        (b"x", "multipart/form-data", 400),
        (b"garbage", MULTIPART, 400),
        (multipart(b"{}", [("a.txt", summary())])[:-200], MULTIPART, 400),
        (multipart(b"{}", []), MULTIPART, 400),
        (multipart(json.dumps(MANIFEST).encode(), []), MULTIPART, 400),
        (multipart(b"{}", [("a.txt", summary())]).replace(b'name="files"', b'name="file"'), MULTIPART, 400),
        (multipart(json.dumps(MANIFEST).encode(), [(f"{n}.txt", b"x") for n in range(102)]), MULTIPART, 413),
    ],
)
def test_a_body_of_the_wrong_shape_is_refused(program, body, kind, status):
    sent = program.headers(**{"Idempotency-Key": "k"})
    read_answer(program.client.post("/api/v1/runs", body, content_type=kind, headers=sent), status)
    assert rows() == [0] * 5


def claiming(program, body, length):
    """A request that ends earlier than it says: a server then reads nothing more."""
    sent = program.headers(**{"Idempotency-Key": "k"})
    claim = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(length)}
    return program.client.generic("POST", "/api/v1/runs", b"x", content_type=MULTIPART, headers=sent, **claim)


def test_a_body_that_broke_off_is_refused(program):
    """Django takes what has come for the whole of it."""
    body = multipart(json.dumps(MANIFEST).encode(), [("a.txt", summary()), ("b.txt", summary(reads=4))])
    for cut in (len(body) - 1, len(body) - 40, len(body) // 2, 300):
        assert read_answer(claiming(program, body[:cut], len(body)), 400)
    assert rows() == [0] * 5


def test_too_many_files_are_told_what_to_do(program, settings):
    limit = settings.MAX_UPLOAD_FILES
    files = [(f"{number}.txt", b"") for number in range(limit + 1)]
    assert f"at most {limit} files: put more of them into a zip" in read_answer(program.post(*files), 413)["detail"]


def test_a_form_that_is_packed_as_a_whole_is_refused(program):
    headers = program.headers(**{"Idempotency-Key": "packed", "Content-Encoding": "gzip"})
    body = gzip.compress(program.form((), {}))
    answer = program.client.post("/api/v1/runs", body, content_type=MULTIPART, headers=headers)
    assert "compress its files" in read_answer(answer, 415)["detail"]


def test_a_claim_of_a_gigabyte_reserves_nothing(program):
    for claim, status in ((10**9, 400), (2 * 10**9, 413), (10**30, 413)):
        assert read_answer(claiming(program, b"--a-boundary\r\n", claim), status)
    assert rows() == [0] * 5


def test_a_bomb_is_refused(program):
    bomb = gzip.compress(b"\0" * 300_000_000)
    assert len(bomb) < 1024**2
    assert "packed too tightly" in read_answer(program.post(("a.gz", bomb)), 413)["detail"]
    assert rows() == [0] * 5


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n" + b"\0" * 900, b"PAR1" * 300, b"not a result\n" * 10_000, b""]
)
def test_a_format_that_nobody_reads_is_refused(program, content):
    problem = read_answer(program.post(("a.bin", content)), 415)
    assert problem["type"] == "/problems/unsupported-format"
    assert problem["file"] == "a.bin"
    assert rows() == [0] * 5


def test_a_damaged_file_is_refused_with_its_place(program):
    packed = gzip.compress(summary(), mtime=0)
    problem = read_answer(program.post(("a.txt.gz", packed[: len(packed) // 2])), 422)
    assert problem["type"] == "/problems/malformed-result"
    assert problem["file"] == "a.txt.gz"
    assert isinstance(problem["line"], int)


def test_a_result_that_breaks_off_says_the_line(program):
    problem = read_answer(program.post(("a.txt", b"YCSB Client 0.17.0\nStarting test.\nLoading workload...\n")), 422)
    assert problem["line"] and problem["column"]
    assert len(problem["text"]) <= 80


def test_numbers_that_are_none_do_not_get_in(program):
    content = summary().replace(b"412.5", b"NaN").replace(b"530.25", b"Infinity")
    response = program.post(("a.txt", content))
    assert response.status_code in (201, 422)
    assert b"NaN" not in response.content


def test_a_hundred_thousand_metrics_do_not_fill_the_tables(program):
    lines = b"".join(b"[OP%d], Operations, 5\n[OP%d], AverageLatency(us), 5\n" % (n, n) for n in range(50_000))
    packed = gzip.compress(b"YCSB Client 0.17.0\n[OVERALL], RunTime(ms), 1000\n" + lines)
    assert program.post(("a.gz", packed), threads=4).status_code in (201, 422)
    assert Measurement.objects.count() <= MAX_OPERATIONS


def damaged(seed: int) -> list[tuple[str, bytes]]:
    """A real result with bytes changed, cut, doubled, packed."""
    dice = random.Random(seed)
    files = sorted(
        path for path in DATA.rglob("*") if path.is_file() and path.suffix in (".txt", ".hdr", ".json", ".out")
    )
    found = []
    for path in dice.sample(files, dice.randint(1, 3)):
        content = bytearray(path.read_bytes()[:200_000])
        for _ in range(dice.choice([1, 3, 30])):
            at = dice.randrange(len(content) + 1)
            how = dice.randrange(5)
            if how == 0:
                content[at : at + 1] = bytes([dice.randrange(256)])
            elif how == 1:
                del content[at : at + dice.randrange(1, 400)]
            elif how == 2:
                content[at:at] = content[: dice.randrange(1, 300)]
            elif how == 3:
                content[at:at] = dice.choice(
                    [b"\0", b"NaN", b"-1", b"9" * 400, b"\xff\xfe", b"\n\n", b",HIST", b"1e999"]
                )
        changed = bytes(content)
        if dice.random() < 0.3:
            changed = gzip.compress(changed) if dice.random() < 0.7 else zlib.compress(changed)
        found.append((dice.choice([path.name, f"1/{path.name}", "\u202e.txt", "x" * 500, "{{x}}", '"; a="']), changed))
    return found


def check_damaged(program, seed: int) -> None:
    before = rows()
    response = program.post(*damaged(seed), threads=4)
    assert response.status_code in (201, 400, 413, 415, 422), (seed, response.content[:2000])
    if response.status_code != 201:
        assert response["Content-Type"] == "application/problem+json"
        assert rows() == before, seed


@pytest.mark.parametrize("seed", range(25))
def test_damage_is_stored_as_it_is_or_refused(program, seed):
    check_damaged(program, seed)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_more_damage_is_stored_as_it_is_or_refused(program, settings):
    settings.API_REQUESTS_PER_MINUTE = settings.API_UPLOADS_PER_MINUTE = 0
    for seed in range(1_000, 3_000):
        check_damaged(program, seed)

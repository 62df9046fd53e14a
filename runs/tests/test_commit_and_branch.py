"""What of the code was measured: stated with an import, shown with the run, found in the list, in its CSV twin."""

import csv
import io

import pytest

from runs.models import Run
from runs.tests.factories import make_run, make_sweep
from runs.tests.importing import answers, bring, import_folder, save, sent, summary
from runs.tests.pages import get_text

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]
COMMIT = "3f2a91c7d0e4b5a6978812345678abcdef012345"


def test_it_is_stated_with_an_import_and_is_no_part_of_the_spec(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    assert 'name="commit"' in get_text(client_in.get(f"/import/{upload.pk}/"))
    run = save(client_in, upload, commit=f" {COMMIT} ", branch="feature/wal <1>").runs.get()
    assert (run.commit, run.branch) == (COMMIT, "feature/wal <1>")
    assert COMMIT not in str(run.spec)
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert "3f2a91c7d0e4…" in page
    assert "feature/wal &lt;1&gt;" in page


def test_it_is_optional(client_in):
    run = save(client_in, bring(client_in, sent("a.txt", summary()))).runs.get()
    assert (run.commit, run.branch) == ("", "")


def test_two_commits_are_two_points_of_one_history(client_in):
    for commit, reads in (("aaaa1", 50_000), ("bbbb2", 60_000)):
        save(client_in, bring(client_in, sent(f"{commit}.txt", summary(reads=reads))), commit=commit)
    assert Run.objects.values_list("config_key", flat=True).distinct().count() == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"commit": "abc"}, "4 to 64 letters"),
        ({"commit": "3f2a 91c7"}, "4 to 64 letters"),
        ({"commit": "ünïcode"}, "4 to 64 letters"),
        ({"commit": "a" * 65}, "at most 64 characters"),
        ({"branch": "ma\u2028in"}, "Holds the character U+2028, which is no part of a name."),
        ({"branch": "b" * 121}, "at most 120 characters"),
    ],
)
def test_it_says_what_a_commit_or_branch_looks_like(client_in, changes, says):
    upload = bring(client_in, sent("a.txt", summary()))
    response = client_in.post(f"/import/{upload.pk}/", answers(upload, **changes))
    assert response.status_code == 422
    assert says in response.content.decode()
    assert not Run.objects.exists()


def test_runs_are_found_by_the_beginning_of_their_commit(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, repeat=1, name="first", commit=COMMIT, branch="main")
    make_run(sweep, repeat=2, name="second", commit="c7d0e4b5")
    page = get_text(client_in.get("/runs/?q=3F2A91"))
    assert "first" in page
    assert "second" not in page
    lines = b"".join(client_in.get("/runs.csv?q=3f2a91c").streaming_content).decode()
    (row,) = csv.DictReader(io.StringIO(lines))
    assert (row["commit"], row["branch"]) == (COMMIT, "main")

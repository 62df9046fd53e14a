"""How much a browser loads for the compare page of 200 runs: all of it once, then little."""

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders

from benchmarks.synthetic_data import Wanted, generate
from benchsite.accounts.models import User
from conftest import signed_in
from runs.models import Matrix

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

FIRST_VIEW = 700_000  # bytes, compressed, Plotly among them
SECOND_VIEW = 100_000


def static_bytes(page: str) -> int:
    """The files that the page names, as WhiteNoise sends them; Plotly is named for charts.js to load."""
    assert settings.STATIC_URL == "/static/"
    names = set(re.findall(r'(?:href|src|data-plotly)="/static/([^"]+)"', page))
    assert any("plotly" in name for name in names) and len(names) > 6
    return sum(len(gzip.compress(Path(str(finders.find(name))).read_bytes(), 9)) for name in names)


def test_a_page_of_two_hundred_runs_weighs_little():
    generate(Wanted(runs=2_100, with_series=0))
    client = signed_in(User.objects.get(username="generated"))
    client.defaults["HTTP_ACCEPT_ENCODING"] = "gzip"
    grid = Matrix.objects.get(name="Forty sweeps, 1")
    answers = [client.get(f"/compare/?v=1&matrix={grid.pk}")]
    page = gzip.decompress(answers[0].content).decode()
    for address in dict.fromkeys(re.findall(r'data-src="(/figures/[^"]+)"', page)):
        answers.append(client.get(address.replace("&amp;", "&")))
    assert len(answers) >= 3, "the page names its figures in another way"
    assert all(answer.status_code == 200 for answer in answers)
    assert all(answer.headers.get("Content-Encoding") == "gzip" for answer in answers)
    own = sum(len(answer.content) for answer in answers)
    assert own < SECOND_VIEW, f"{own:,} bytes"
    assert own + static_bytes(page) < FIRST_VIEW, f"{own:,} and {static_bytes(page):,} bytes"
    print(f"{own:,} bytes of its own, {static_bytes(page):,} bytes of files")

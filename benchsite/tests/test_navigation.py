"""The navigation says where one is, also on pages whose address is not below that of its place."""

import re

import pytest
from django.urls import reverse

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("schedules", "Schedules"),
        ("baselines", "Baselines"),
        ("history", "History"),
        ("published", "Published results"),
        ("runs", "Runs"),
        ("home", "Home"),
        ("systems", "Systems"),
    ],
)
def test_it_marks_the_place_that_a_page_belongs_to(client_in, name, place):
    page = client_in.get(reverse(name)).content.decode()
    bar = page.partition('aria-label="Main"')[2].partition("</nav>")[0]
    assert re.findall(r'aria-current="page">([^<]+)', bar) == [place]

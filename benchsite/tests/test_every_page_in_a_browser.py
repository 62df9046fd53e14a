"""Every page in Chromium, with no, usual and hostile data: no complaint, no overflow, nothing serious for axe.

`make test` visits each page with usual or hostile data, and some without data, in a variant that a seed chooses;
`make test-long` visits it with each and in every variant.
"""

import random
from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.core import documents
from benchsite.tests.browser import PAGES, addresses, axe_findings, chromium, list_scrolling_tables, opened_site
from runs.tests.factories import make_load_generator, make_run, make_sweep, make_team, make_user
from runs.tests.world import UGLY, make_world

__all__ = ["chromium"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(500)]
# Width in px, theme, with scripts.
VARIANTS = [*product((1280, 390), ("light", "dark"), (True,)), (1280, "light", False), (390, "dark", False)]
SIDES = 50
HELP_SHARE = 0.1  # of the documents, in `make test`
EMPTY_SHARE = 0.3  # of the pages without data


def make_sides(world, number):
    """Sweeps of the world's matrix, each with three rungs."""
    for side in range(number):
        fields = {"database": world.database, "workload": world.workload, "name": f"{world.matrix.name[:60]} {side}"}
        sweep = make_sweep(matrix=world.matrix, mode=("always", "everysec", "off")[side % 3], **fields)
        for threads in (2, 4, 8):
            make_run(sweep, threads=threads, throughput=(900.0 + 40 * side) * threads)


def make_site(data):
    """A person of a team with such data, and the addresses of its pages."""
    team = make_team(name=UGLY[:40] if data == "hostile" else data)
    client = Client()
    client.force_login(make_user(team=team, username=data, role="admin", is_staff=data != "no"))
    if data == "no":
        return client, [reverse(name) for name in PAGES if name != "networks"]  # Of operators.
    world = make_world(team, name=UGLY if data == "hostile" else "Study of everything")
    make_load_generator(name=f"load-{data}")
    make_sides(world, SIDES if data == "hostile" else 2)
    pages = [*addresses(world), f"{reverse('compare')}?v=1&matrix=all&published=aerospike-2017"]
    if data == "usual":
        pages += [reverse("glossary"), reverse("api-v1:openapi-view"), *map(documents.get_address, documents.names())]
    return client, pages


def find_problems(page, site, address, width, has_scripts):
    """What is wrong with one page."""
    site.complaints.clear()
    answer = page.goto(site.url + address)
    if page.locator("figure[data-src]").count():
        page.wait_for_load_state("networkidle")
    problems = [] if answer.status == 200 else [f"answers {answer.status}"]
    wide = page.evaluate("document.documentElement.scrollWidth") - width
    problems += [f"{wide} px too wide"] if wide > 1 else []
    if width < 600 and has_scripts:
        problems += [f"table scrolls: {caption}" for caption in list_scrolling_tables(page)]
    problems += ["has not one h1"] if page.locator("h1").count() != 1 else []
    terms = page.locator("[popover]").evaluate_all("popovers => popovers.map(({ id }) => id)")
    problems += [f"{term} twice" for term in set(terms) if terms.count(term) > 1]
    problems += axe_findings(page) if has_scripts else []
    return problems + site.complaints


def crawl(chromium, live_server, data, choose_variants):
    client, pages = make_site(data)
    problems = {}
    with opened_site(chromium, live_server.url, client) as site:
        for variant in VARIANTS:
            width, theme, has_scripts = variant
            page = site.open(
                viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=has_scripts,
                reduced_motion="reduce",
            )  # fmt: skip
            for address in (address for address in dict.fromkeys(pages) if variant in choose_variants(address)):
                if new := find_problems(page, site, address, width, has_scripts):
                    problems[f"{address} {width} {theme}{'' if has_scripts else ' without scripts'}"] = new
            page.close()
    return problems


@pytest.mark.parametrize("data", ["no", pytest.param("usual", marks=pytest.mark.long), "hostile"])
def test_pages_have_no_problem(chromium, live_server, data):
    def choose_variants(address):
        if data == "no":
            dice = random.Random(address)
            return [dice.choice(VARIANTS)] if dice.random() < EMPTY_SHARE else []
        dice = random.Random(address.rstrip("0123456789abcdef-/"))  # Ids differ from session to session.
        if address.startswith("/help/"):
            return [dice.choice(VARIANTS)] if dice.random() < HELP_SHARE else []
        return [dice.choice(VARIANTS)] if dice.choice(("usual", "hostile")) == data else []

    assert crawl(chromium, live_server, data, choose_variants) == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("data", ["no", "usual", "hostile"])
def test_pages_have_no_problem_in_any_variant(chromium, live_server, data):
    assert crawl(chromium, live_server, data, lambda address: VARIANTS) == {}

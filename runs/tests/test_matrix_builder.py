"""The matrix builder: preview, exclusions with a reason, submission, cloning."""

import re

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.models import Matrix, Run
from runs.plans.api.plans import MatrixPlan
from runs.plans.forms.matrices import MatrixForm
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_team,
    make_user,
    make_workload,
)
from runs.tests.world import browser, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

BINDINGS = {system.binding.name: "digest" for system in load_catalog().systems.values()}


@pytest.fixture
def parts(team):
    """Two databases on one machine, two workloads, two load generators."""
    cluster = make_cluster(team=team, machines=[make_machine()])
    return {
        "redis": make_database(team=team, cluster=cluster, name="Redis", system="redis"),
        "postgresql": make_database(team=team, cluster=cluster, name="PostgreSQL", system="postgresql"),
        "a": make_workload(team=team, name="Workload A", short_name="A"),
        "c": make_workload(team=team, name="Workload C", short_name="C"),
        "generators": [make_load_generator(bindings=BINDINGS) for _ in range(2)],
    }


@pytest.fixture
def plan(parts):
    """What the builder's form sends for 2 databases x 3 modes, 2 workloads, 3 rungs, 2 repeats."""
    return {
        "name": "Study", "purpose": "demo",
        "entries": [f"{parts['redis'].pk}:always", f"{parts['redis'].pk}:everysec", f"{parts['postgresql'].pk}:on"],
        "workloads": [str(parts["a"].pk), str(parts["c"].pk)],
        "load_generators": [str(generator.pk) for generator in parts["generators"]],
        "processes_per_generator": "1", "ladder": "threads", "rungs": "2, 4 16", "threads": "", "repeats": "2",
        "order": "interleaved", "seed": "1", "warmup_s": "2", "settle_s": "0", "min_measure_s": "10",
        "min_operations": "0",
        "load_policy": "load",
        "load_threads": "8", "between_rungs": "keep",
        "priority": "0", "tags": "nightly, nightly, disk", "notes": "",
    }  # fmt: skip


def get_text(response):
    return re.sub(r"\s+", " ", response.content.decode().replace("&#x27;", "'"))


def test_of_many_load_generators_some_are_named(client_in, plan, parts, monkeypatch):
    monkeypatch.setattr("runs.catalog.forms.generators.MAX_TOGGLES", 3)
    lab = [make_load_generator(name=f"lab-{number}", bindings=BINDINGS) for number in range(3)]
    assert 'name="load_generators"' not in get_text(client_in.get(reverse("matrix-add")))
    wrong = client_in.post(
        reverse("matrix-add"), plan | {"load_generators": [], "generator_names": "lab-1, rack-*", "submit": "1"}
    )
    assert "No load generator that your team may use is called “rack-*”." in get_text(wrong)
    sent = plan | {"load_generators": [str(parts["generators"][0].pk)], "generator_names": "lab-[12]", "rungs": "8"}
    assert client_in.post(reverse("matrix-add"), sent | {"submit": "1"}).status_code == 302
    assert set(Matrix.objects.get().load_generators.all()) == {parts["generators"][0], *lab[1:]}
    again = get_text(client_in.get(reverse("matrix-add"), {"from": Matrix.objects.get().pk}))
    assert again.count('name="load_generators"') == 3


def test_it_previews_runs_time_and_disk(client_in, plan):
    page = get_text(client_in.post(reverse("matrix-preview"), plan))
    assert '<span class="stat__value">36</span>' in page  # 3 entries x 2 workloads x 3 rungs x 2 repeats
    assert "and 3 loads" in page
    for word in ("Predicted time", "Ends about", "Disk per node", "results"):
        assert word in page
    assert page.count("6 runs") == 6
    assert "<html" not in page
    assert not Matrix.objects.exists()


def test_one_click_picks_a_mode_for_each_loss(client_in, plan, parts):
    """Any loss, some seconds, none: the modes of the other database and everything else stay."""
    page = get_text(client_in.post(reverse("matrix-add"), {**plan, "pick": str(parts["redis"].pk)}))

    ticked = re.findall(r'name="entries" value="([^"]+)" checked', page)
    modes = [f"{parts['redis'].pk}:{slug}" for slug in ("off", "everysec", "always")]
    assert sorted(ticked) == sorted([*modes, f"{parts['postgresql'].pk}:on"])
    assert 'value="2, 4 16"' in page
    assert not Matrix.objects.exists()


def test_mode_whose_copies_are_missing_is_not_ticked(client_in, parts):
    """Three nodes that keep one copy of each record have no other copy to wait for."""
    database = parts["redis"]
    database.system, database.settings = "cassandra", {"nodes": "3"}
    quorum = f'value="{database.pk}:quorum-batch"'
    for copies, is_ticked in ((1, False), (3, True)):
        database.replication_factor = copies
        database.save()
        page = get_text(client_in.get(reverse("matrix-add"), {"database": str(database.pk)}))
        choice = page.partition(quorum)[2].partition("</label>")[0]
        assert ("checked" in choice, "+1, missing" in choice) == (is_ticked, not is_ticked)


def test_modes_say_whom_reads_of_their_database_ask(client_in, parts):
    database = parts["redis"]
    database.system, database.binding_properties = "mongodb", {"mongodb.read_preference": "nearest"}
    database.save()
    page = get_text(client_in.get(reverse("matrix-add"), {"database": str(database.pk)}))
    titles = re.findall(rf'title="([^"]+)"><input type="checkbox" name="entries" value="{database.pk}:(\w+)"', page)
    sentences = {slug: title for title, slug in titles}
    assert "Reads may come from any copy" in sentences["w1"]


@pytest.mark.parametrize("key", ["", "nothing", "00000000-0000-0000-0000-000000000000"])
def test_unknown_pick_changes_nothing(client_in, plan, key):
    page = get_text(client_in.post(reverse("matrix-add"), {**plan, "pick": key}))
    assert sorted(re.findall(r'name="entries" value="([^"]+)" checked', page)) == sorted(plan["entries"])


def test_it_previews_without_javascript_too(client_in, plan):
    page = get_text(client_in.post(reverse("matrix-add"), {**plan, "preview": "1"}))
    assert '<span class="stat__value">36</span>' in page
    assert 'value="2, 4 16"' in page
    assert not Matrix.objects.exists()


def test_it_submits_the_matrix_with_its_runs(client_in, plan, team, user):
    response = client_in.post(reverse("matrix-add"), {**plan, "submit": "1"})
    matrix = Matrix.objects.get()
    assert response["Location"] == reverse("matrix", args=[matrix.pk])
    assert (matrix.team, matrix.created_by, matrix.rungs) == (team, user, [2, 4, 16])
    assert matrix.tags == ["nightly", "disk"]
    assert matrix.submitted_at is not None
    assert Run.objects.filter(matrix=matrix, phase="measure").count() == 36
    assert Run.objects.filter(matrix=matrix, phase="load").count() == 3


def test_it_makes_a_name_where_none_was_written(client_in, plan):
    client_in.post(reverse("matrix-add"), {**plan, "name": "", "submit": "1"})
    assert Matrix.objects.get().name == "PostgreSQL, Redis: A, C"


def test_it_stores_nothing_of_a_plan_that_cannot_run(client_in, plan):
    response = client_in.post(reverse("matrix-add"), {**plan, "rungs": "1, 4", "submit": "1"})
    assert response.status_code == 422
    page = get_text(response)
    assert "Nothing was submitted." in page
    assert "A rung of 1 thread cannot be split over 2 clients: begin at 2, or choose fewer load generators." in page
    assert 'value="1, 4"' in page
    assert not Matrix.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rungs": ""}, "Give the ladder at least one rung"),
        ({"rungs": "2, four"}, "“four” is not a whole number"),
        ({"rungs": "0"}, "“0” is not a whole number"),
        ({"rungs": "-4"}, "“-4” is not a whole number"),
        ({"rungs": "99999999999"}, "is not a whole number"),
        ({"rungs": "²"}, "is not a whole number"),
        ({"rungs": "4, 2, 4"}, "4 stands in the ladder twice"),
        ({"rungs": " ".join(map(str, range(1, 70)))}, "There are 69 rungs; at most 60"),
        ({"repeats": "0"}, "greater than or equal to 1"),
        ({"repeats": "51"}, "less than or equal to 50"),
        ({"min_measure_s": "0"}, "greater than or equal to 1"),
        ({"warmup_s": "-1"}, "greater than or equal to 0"),
        ({"purpose": "fun"}, "fun is not one of the available choices"),
        ({"tags": "x" * 41}, "has 41 characters; at most 40"),
        ({"entries": []}, "Choose at least one database and durability mode."),
        ({"workloads": []}, "Choose at least one workload."),
        ({"load_generators": []}, "Choose at least one load generator."),
        ({"entries": ["nonsense"]}, "nonsense is not one of the available choices"),
        ({"ladder": "target", "rungs": "1000"}, "needs the number of threads"),
    ],
)
@pytest.mark.parametrize("name", ["matrix-preview", "matrix-add"])
def test_it_says_what_is_wrong(client_in, plan, name, changes, message):
    response = client_in.post(reverse(name), {**plan, **changes, "submit": "1"})
    assert response.status_code == (200 if name == "matrix-preview" else 422)
    assert message in get_text(response)
    assert not Matrix.objects.exists()


def exclusion(entry="", workload="", rung="", reason=""):
    return {"exclude_entry": entry, "exclude_workload": workload, "exclude_rung": rung, "exclude_reason": reason}


def test_it_leaves_out_a_cell_with_its_reason(client_in, plan, parts):
    row = exclusion(plan["entries"][0], plan["workloads"][1], reason="too slow <here>")
    preview = get_text(client_in.post(reverse("matrix-preview"), {**plan, **row}))
    assert "not run: too slow &lt;here&gt;" in preview
    assert '<span class="stat__value">30</span>' in preview
    client_in.post(reverse("matrix-add"), {**plan, **row, "submit": "1"})
    assert Matrix.objects.get().exclusions == [
        {
            "match": {"database": str(parts["redis"].pk), "mode": "always", "workload": str(parts["c"].pk)},
            "reason": "too slow <here>",
        }
    ]
    assert Run.objects.filter(phase="measure").count() == 30


def test_it_leaves_out_a_row_a_column_and_a_rung(client_in, plan):
    rows = [(plan["entries"][0], "", "", "row"), ("", plan["workloads"][1], "", "column"), ("", "", "16", "rung")]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(exclusion())}
    client_in.post(reverse("matrix-add"), {**plan, **columns, "submit": "1"})
    runs = Run.objects.filter(phase="measure")
    assert runs.count() == 2 * 1 * 2 * 2  # entries, workload, rungs, repeats that are left
    assert set(runs.values_list("threads", flat=True)) == {2, 4}


def test_it_needs_a_reason_only_to_submit(client_in, plan):
    row = exclusion(plan["entries"][0])
    assert '<span class="stat__value">24</span>' in get_text(client_in.post(reverse("matrix-preview"), {**plan, **row}))
    response = client_in.post(reverse("matrix-add"), {**plan, **row, "submit": "1"})
    assert response.status_code == 422
    assert "Write why it is left out" in get_text(response)
    assert not Matrix.objects.exists()


def test_it_adds_a_row_for_the_cell_whose_button_was_pressed(client_in, plan):
    cell = f"{plan['entries'][0]}|{plan['workloads'][1]}"
    page = get_text(client_in.post(reverse("matrix-add"), {**plan, "exclude": cell}))
    assert f'<option value="{plan["entries"][0]}" selected>' in page
    assert f'<option value="{plan["workloads"][1]}" selected>' in page
    assert "not run: the reason is still to be written" in page


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (exclusion(reason="because"), "Choose what is left out"),
        (exclusion(rung="many", reason="because"), "“many” is no rung"),
        (exclusion(entry="gone:mode", reason="because"), "This database and mode is no longer there"),
        (exclusion(workload="gone", reason="because"), "This workload is no longer there"),
        (exclusion(rung="2", reason="x" * 301), "The reason has 301 characters"),
    ],
)
def test_it_refuses_exclusions_that_mean_nothing(client_in, plan, row, message):
    response = client_in.post(reverse("matrix-add"), {**plan, **row, "submit": "1"})
    assert response.status_code == 422
    assert message in get_text(response)


def test_it_clones_a_matrix_into_the_builder(client_in, plan):
    row = exclusion(plan["entries"][0], reason="too slow")
    client_in.post(reverse("matrix-add"), {**plan, **row, "submit": "1"})
    first = Matrix.objects.get()
    page = client_in.get(reverse("matrix-add"), {"from": str(first.pk)})
    form = page.context["form"]
    sent = form.as_posted()
    assert set(sent.getlist("entries")) == set(plan["entries"])
    assert set(sent.getlist("workloads")) == set(plan["workloads"])
    assert (sent["name"], sent["rungs"], sent["repeats"]) == ("Study (again)", "2, 4, 16", "2")
    assert '<span class="stat__value">24</span>' in get_text(page)
    client_in.post(reverse("matrix-add"), {**sent, **{k: sent.getlist(k) for k in sent}, "submit": "1"})
    again = Matrix.objects.exclude(pk=first.pk).get()
    assert (again.rungs, again.exclusions, again.resets) == (first.rungs, first.exclusions, first.resets)
    assert Run.objects.filter(matrix=again).count() == Run.objects.filter(matrix=first).count()


def test_refuses_database_workload_generator_of_another_team(client_in, plan):
    foreign = make_world(make_team())
    foreign.generator.teams.add(foreign.team)
    for field, value in (
        ("entries", f"{foreign.database.pk}:always"),
        ("workloads", str(foreign.workload.pk)),
        ("load_generators", str(foreign.generator.pk)),
    ):
        response = client_in.post(reverse("matrix-add"), {**plan, field: [value], "submit": "1"})
        assert response.status_code == 422
        assert "is not one of the available choices" in get_text(response)


def test_it_says_that_it_waits_when_the_machines_are_busy(client_in, plan, parts):
    client_in.post(reverse("matrix-add"), {**plan, "submit": "1"})
    assert "starts <time" in get_text(client_in.post(reverse("matrix-preview"), plan))


def test_it_begins_with_values_fit_to_publish(client_in, parts):
    page = get_text(client_in.get(reverse("matrix-add")))
    assert 'value="2, 4, 8, 16, 32, 64"' in page
    assert '<option value="measured" selected>' in page
    assert page.count('name="load_generators"') == page.count('name="load_generators" value=')
    assert "Choose at least one workload." in page


def test_clients_elsewhere_are_those_on_other_machines(client_in, plan, parts):
    """Where there are none, those of the matrix stay chosen."""
    client_in.post(reverse("matrix-add"), {**plan, "submit": "1"})
    address = f"{reverse('matrix-add')}?from={Matrix.objects.get().pk}&clients=elsewhere"
    sent = client_in.get(address).context["form"].as_posted()
    assert set(sent.getlist("load_generators")) == set(plan["load_generators"])

    make_load_generator(machine=parts["redis"].cluster.nodes.get().machine)
    make_load_generator(machine=make_machine(), last_seen_at=None)
    other = make_load_generator(machine=make_machine())
    sent = client_in.get(address).context["form"].as_posted()
    assert sent.getlist("load_generators") == [str(other.pk)]


@pytest.mark.parametrize(
    ("changes", "settle_s"),
    [
        ({"purpose": "measured"}, 60),
        ({"purpose": "soak"}, 60),
        ({"purpose": "tuning"}, 0),
        ({"purpose": "measured", "settle_s": "0"}, 0),
        ({"purpose": "measured", "settle_s": "5"}, 5),
        ({"purpose": "measured", "ladder": "target", "rungs": "100", "profile_preset": "burst"}, 0),
    ],
)
def test_settling_left_empty_is_that_of_the_purpose(client_in, plan, changes, settle_s):
    form = client_in.post(reverse("matrix-preview"), {**plan, "settle_s": "", **changes}).context["form"]
    assert form.cleaned_data["settle_s"] == settle_s


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({"purpose": "measured"}, (60, 180)),
        ({"purpose": "smoke"}, (5, 10)),
        ({"purpose": "tuning"}, (30, 60)),
        ({"purpose": "smoke", "min_measure_s": "20"}, (5, 20)),
        ({"purpose": "smoke", "ladder": "target", "rungs": "100", "profile_preset": "burst"}, (60, 180)),
    ],
)
def test_empty_seconds_are_those_of_the_purpose(client_in, plan, changes, seconds):
    fresh = client_in.get(reverse("matrix-add")).context["form"].as_posted()
    sent = {**plan, "warmup_s": fresh.get("warmup_s", ""), "min_measure_s": fresh.get("min_measure_s", ""), **changes}
    response = client_in.post(reverse("matrix-preview"), sent)
    cleaned = response.context["form"].cleaned_data
    assert (cleaned["warmup_s"], cleaned["min_measure_s"]) == seconds
    preview = response.context["foreseen"]["preview"]
    assert preview.seconds >= preview.runs * sum(seconds)


def test_waits_after_loads_stand_in_the_preview(client_in, plan):
    text = get_text(client_in.post(reverse("matrix-preview"), plan))
    assert "waits for a steady throughput" not in text

    settled = client_in.post(reverse("matrix-preview"), {**plan, "settle_s": "60"})
    preview = settled.context["foreseen"]["preview"]
    assert preview.settling_s == (preview.loads + preview.runs) * 60 > 0
    assert "are waits for a steady throughput" in get_text(settled)
    bare = client_in.post(reverse("matrix-preview"), plan).context["foreseen"]["preview"]
    # The warm-up of every run may last longer, and the first one after each load waits.
    assert preview.seconds - bare.seconds == pytest.approx(60 * (preview.runs + preview.brackets + preview.loads))


def test_pages_state_the_longest_time(client_in, plan):
    sent = {**plan, "min_operations": "3000000", "max_measure_s": "600"}
    assert "until their operations are done" in get_text(client_in.post(reverse("matrix-preview"), sent))
    assert "until their operations" not in get_text(client_in.post(reverse("matrix-preview"), plan))

    assert client_in.post(reverse("matrix-add"), {**sent, "submit": "1"}).status_code == 302

    matrix = Matrix.objects.get()
    stated = '3,000,000 operations at least, in <span class="nowrap" title="600 s">10 min</span> at most'
    assert stated in get_text(client_in.get(reverse("matrix", args=[matrix.pk])))
    run = matrix.runs.filter(phase="measure").first()
    assert stated in get_text(client_in.get(reverse("run", args=[run.pk])))
    assert MatrixForm(team=matrix.team, source=matrix)["max_measure_s"].value() == 600
    Matrix.objects.update(min_operations=0, max_measure_s=10)
    assert MatrixForm(team=matrix.team, source=Matrix.objects.get())["max_measure_s"].value() == 0


def test_default_plan_of_two_databases_is_blocked(client_in, plan, parts):
    """In the builder and in the API: three interleaved repeats, so verdicts use the blocked analysis."""
    sent = client_in.get(reverse("matrix-add")).context["form"].as_posted()
    defaults = {name: sent.getlist(name) for name in ("ladder", "order", "repeats")}
    assert defaults == {"ladder": ["threads"], "order": ["interleaved"], "repeats": ["3"]}
    fields = MatrixPlan.model_fields
    assert (fields["order"].default, fields["repeats"].default) == ("interleaved", 3)
    client_in.post(reverse("matrix-add"), {**plan, **defaults, "submit": "1"})
    measured = Run.objects.filter(phase="measure").order_by("position").values_list("repeat", "sweep_id")
    blocks = [{sweep for repeat, sweep in measured if repeat == block} for block in (1, 2, 3)]
    assert blocks[0] == blocks[1] == blocks[2] and len(blocks[0]) == 6
    assert [repeat for repeat, _ in measured] == sorted(repeat for repeat, _ in measured)


def test_it_begins_with_the_database_whose_page_led_here(client_in, parts):
    page = client_in.get(reverse("matrix-add"), {"database": str(parts["redis"].pk), "workload": str(parts["c"].pk)})
    sent = page.context["form"].as_posted()
    assert f"{parts['redis'].pk}:always" in sent.getlist("entries")
    assert not [value for value in sent.getlist("entries") if "wait" in value]  # those need another copy
    assert sent.getlist("workloads") == [str(parts["c"].pk)]


def test_it_rejects_get_of_the_preview(client_in):
    assert client_in.get(reverse("matrix-preview")).status_code == 405


def test_it_previews_in_a_constant_number_of_queries(client_in, plan, team, parts, django_assert_max_num_queries):
    for _ in range(10):
        make_database(team=team, cluster=parts["redis"].cluster)
        make_workload(team=team)
    with django_assert_max_num_queries(25):
        client_in.post(reverse("matrix-preview"), plan)


def test_it_lists_matrices_with_their_state(client_in, plan, team):
    client_in.post(reverse("matrix-add"), {**plan, "submit": "1"})
    page = get_text(client_in.get(reverse("matrices")))
    assert "0 of 39" in page
    assert "badge--queued" in page
    Run.objects.filter(repeat=1).update(status="succeeded", finished_at=Matrix.objects.get().submitted_at)
    assert "badge--running" in get_text(client_in.get(reverse("matrices")))
    assert "Clone" not in get_text(browser(team, "viewer").get(reverse("matrices")))


def test_it_refuses_people_who_only_look(team, plan):
    viewer = browser(team, "viewer")
    assert viewer.post(reverse("matrix-add"), {**plan, "submit": "1"}).status_code == 403
    assert not Matrix.objects.exists()
    assert make_user(team=team) is not None


def test_each_field_stands_once(client_in, plan):
    """The later of two fields of one name would win, and undo what was typed in the other."""
    page = client_in.get(reverse("matrix-add")).content.decode()

    ids = re.findall(r'<(?:input|select|textarea)[^>]* id="(id_[a-z_0-9]+)"', page)

    assert "id_settle_s" in ids
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("nodes", [1, 2])
def test_modes_that_wait_are_ticked_where_a_replica_is(client_in, parts, nodes):
    database = parts["redis"]
    database.settings = {"nodes": str(nodes)}
    database.save()
    page = client_in.get(reverse("matrix-add"), {"database": database.pk})
    ticked = page.context["form"].initial["entries"]
    assert f"{database.pk}:always" in ticked
    assert (f"{database.pk}:always-wait-1" in ticked) == (nodes == 2)

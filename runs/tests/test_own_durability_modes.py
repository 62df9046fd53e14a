"""Own durability modes of a database: copied, with a record that its owner states; in plans, specs and plan files."""

import pytest
from django.urls import reverse

from runs.catalog import Catalog, Durability, load_catalog
from runs.models import Database, Run
from runs.plans import submit
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.files.plan_import import import_plan
from runs.plans.files.script import list_stations
from runs.tests.factories import make_cluster, make_database, make_team, make_user
from runs.tests.planning_world import a_matrix, chosen_elsewhere
from runs.tests.world import browser

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SLUG = "always-rewrite-stated"


@pytest.fixture
def database(team):
    return make_database(team=team, cluster=make_cluster(team=team), name="Redis")


def sent(**changes):
    record = {"ack": "disk", "replicas_acked": "0", "replica_ack": "none", "reads": "primary", "loss_window_s": "1"}
    settings = "appendonly=yes\nappendfsync=always\nno-appendfsync-on-rewrite=yes"
    return {"name": "Always rewrite", "server_settings": settings, "client_properties": "", **record, **changes}


def copy_mode(database, base="always", **changes):
    address = reverse("own-mode-add", args=[database.pk, base])
    return browser(database.team).post(address, sent(**changes))


def refusal(response):
    assert response.status_code == 422
    return response.content.decode().replace("&#x27;", "'")


def test_form_begins_with_the_copied_mode(database):
    page = browser(database.team).get(reverse("own-mode-add", args=[database.pk, "everysec"])).content.decode()
    assert "appendfsync=everysec" in page and 'value="os_buffer" selected' in page


def test_page_shows_copied_mode_as_stated(database):
    response = copy_mode(database)
    assert response["Location"] == f"{reverse('database', args=[database.pk])}#mode-{SLUG}"
    page = browser(database.team).get(reverse("database", args=[database.pk])).content.decode()
    assert f'<a href="#mode-{SLUG}">{SLUG}</a> <span class="chip">stated</span>' in page
    assert "may lose the last 1 s" in page and "Stated by the owner of this database, as a copy of always." in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"server_settings": "appendfsink=no"}, "appendfsync"),
        ({"client_properties": "redis.password=x"}, "No durability mode decides redis.password"),
        ({"ack": "memory", "loss_window_s": "0"}, "A power failure loses writes that neither"),
        ({"worst_loss_window_s": "0.5"}, "Type more seconds than under"),
        ({"replicas_acked": "most"}, "Other copies that have answered are a number, quorum or all."),
        ({"replicas_acked": "0", "replica_ack": "disk"}, "No other copy has answered"),
        ({"name": "7"}, "Begin the name with a letter"),
        ({"server_settings": "maxmemory=1GB"}, "maxmemory is decided by the durability mode"),
    ],
)
def test_refuses_what_is_no_mode(database, changes, message):
    Database.objects.update(settings={"maxmemory": "1GB"})
    assert message in refusal(copy_mode(database, **changes))
    assert Database.objects.get().own_modes == {}


def test_mode_of_go_ycsb_names_no_variable(database):
    Database.objects.update(system="mariadb", flavour="go-ycsb", client="go-ycsb-1.0.3/mysql")
    changes = {"server_settings": "", "client_properties": "mysql.user=${HOME}"}
    assert "mysql.user must not contain ${" in refusal(copy_mode(database, base="flush-1", **changes))
    assert Database.objects.get().own_modes == {}


def test_refuses_the_copied_mode_itself_and_a_second_name(database):
    always = load_catalog().system("redis").mode("always")
    lines = "\n".join(f"{name}={text}" for name, text in always.server_settings.items())
    assert "This is always itself" in refusal(copy_mode(database, server_settings=lines, loss_window_s="0"))
    copy_mode(database)
    assert f"has an own mode {SLUG} already" in refusal(copy_mode(database))


def test_changed_setting_keeps_no_promise_unless_it_is_stated(database):
    """The catalog knows effects of settings as text only."""
    settings = "appendonly=yes\nappendfsync=everysec\nsave=\nno-appendfsync-on-rewrite=no"
    changes = {"server_settings": settings, "loss_window_s": "0"}
    page = refusal(copy_mode(database, **changes))
    assert "appendfsync would be changed under the same promise: state above what may be lost now" in page
    assert "appendonly, " not in page and Database.objects.get().own_modes == {}
    copy_mode(database, **changes, restated="on")
    assert Database.objects.get().own_modes[SLUG]["durability"]["loss_window_s"] == 0
    edit = reverse("own-mode-edit", args=[database.pk, SLUG])
    without = {"server_settings": "appendonly=yes", "loss_window_s": "0"}
    assert "appendfsync, no-appendfsync-on-rewrite and save would" in refusal(
        browser(database.team).post(edit, sent(**without))
    )


def with_own_mode(**fields):
    """A plan that is not submitted, of Redis in an own mode beside those of the catalog."""
    matrix = a_matrix(**fields)
    entry = matrix.entries.get(mode="everysec")
    copy_mode(entry.database)
    matrix.entries.filter(pk=entry.pk).update(mode=SLUG)
    return matrix


def test_runs_have_stated_record_and_settings():
    matrix = with_own_mode(bracket=False)
    submit(matrix, make_user(team=matrix.team))
    mode = Run.objects.filter(mode=SLUG).first().spec["mode"]
    assert mode["server_settings"]["no-appendfsync-on-rewrite"] == "yes"
    assert Durability.from_dict(mode["record"]).loss_window_s == 1
    assert matrix.sweeps.filter(mode=SLUG).exists()


def test_plan_file_keeps_own_modes_for_import_and_script():
    text = export_plan(with_own_mode())
    file, team = read_plan(text), make_team()
    assert [station.mode for station in list_stations(file, {})].count(SLUG) == 1
    again = import_plan(team, file, chosen_elsewhere(file, team), None)
    assert export_plan(again) == text
    with pytest.raises(PlanRefused, match="no-appendfsync-on-rewrite"):
        read_plan(text.replace('no-appendfsync-on-rewrite = "yes"', 'no-appendfsync-on-rewrite = "perhaps"'))
    with pytest.raises(PlanRefused, match="There is no durability mode"):
        read_plan(text.replace(f'mode = "{SLUG}"', 'mode = "other-stated"'))


def test_builder_and_api_offer_own_modes(database):
    copy_mode(database)
    page = browser(database.team).get(reverse("matrix-add")).content.decode()
    assert f"{database.pk}:{SLUG}" in page


def test_used_mode_stays_and_unused_one_is_deleted():
    matrix = with_own_mode()
    database = matrix.entries.get(mode=SLUG).database
    address, client = reverse("own-mode-delete", args=[database.pk, SLUG]), browser(matrix.team)
    assert f"the matrix “{matrix.name}” uses it" in client.post(address, follow=True).content.decode()
    matrix.entries.filter(mode=SLUG).delete()
    client.post(address)
    database.refresh_from_db()
    assert database.own_modes == {}


def test_unused_mode_is_edited_in_its_place(database):
    copy_mode(database)
    client, address = browser(database.team), reverse("own-mode-edit", args=[database.pk, SLUG])
    page = client.get(address).content.decode()
    assert f"Edit {SLUG}" in page and 'value="always-rewrite"' in page and "appendfsync=always" in page
    client.post(address, sent(name="Always slow", worst_loss_window_s="", loss_window_s="2", ack="os_buffer"))
    database.refresh_from_db()
    assert list(database.own_modes) == ["always-slow-stated"]
    assert database.own_modes["always-slow-stated"]["durability"]["loss_window_s"] == 2


def test_used_mode_is_copied_and_stays_as_it_was():
    matrix = with_own_mode()
    database = matrix.entries.get(mode=SLUG).database
    own = database.own_modes[SLUG]
    client, address = browser(matrix.team), reverse("own-mode-edit", args=[database.pk, SLUG])
    assert f"the matrix “{matrix.name}” uses it" in client.get(address).content.decode()
    assert "has an own mode" in refusal(client.post(address, sent()))
    client.post(address, sent(name="Another"))
    database.refresh_from_db()
    assert database.own_modes[SLUG] == own and "another-stated" in database.own_modes


def test_another_system_is_refused_while_own_modes_are_there(database):
    copy_mode(database)
    data = {"system": "postgresql", "cluster": database.cluster_id, "name": "Redis", "replication_factor": "1"}
    response = browser(database.team).post(reverse("database-edit", args=[database.pk]), data)
    assert f"The own mode {SLUG} does not fit" in refusal(response)


def test_copy_of_a_mode_that_left_the_catalog_is_unknown(database):
    copy_mode(database)
    database.refresh_from_db()
    redis = load_catalog().system("redis")
    modes = {slug: mode for slug, mode in redis.modes.items() if slug != "always"}
    assert SLUG in redis.with_own_modes(database.own_modes).modes
    changed = redis.model_copy(update={"modes": modes})
    assert SLUG not in Catalog({"redis": changed}).system("redis", "", database.own_modes).modes

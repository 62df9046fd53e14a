"""Reports beside published results have every number of the study, as it printed it."""

from reports.compare.pages.tables import list_published
from runs.plans.studies import studies


def test_each_chosen_study_has_its_table():
    items = list(list_published(("columbia-2016", "nobody-1999", "vari-2013")))

    assert [item.name for item in items] == ["table-published-vari-2013", "table-published-columbia-2016"]


def test_table_has_every_number_in_the_order_of_the_study():
    (item,) = list_published(("thumbtack-2014",))
    (study,) = [study for study in studies() if study.slug == "thumbtack-2014"]

    table = item.table()

    assert [row[4] for row in table.rows] == [fact.value for fact in study.facts]
    assert table.rows[0][0] == "Cassandra" and table.rows[0][5] == "ops/s"
    assert sum(bool(row[6]) for row in table.rows) == len(study.disputed)

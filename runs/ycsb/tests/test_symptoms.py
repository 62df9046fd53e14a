"""What went wrong is found in what a client wrote."""

import pytest

from runs.ycsb.failure_symptoms import describe, find_symptoms
from runs.ycsb.tests.samples import DATA, corpus


def found(name: str) -> list[str]:
    return [symptom.kind for symptom in find_symptoms((DATA / name / "stderr.txt").read_text().splitlines())]


def test_it_finds_nothing_in_good_runs():
    for name in ("two_clients/0", "two_clients/1", "load/0", "target/0", "stock_v1/0"):
        assert found(name) == []


def test_it_names_a_database_that_does_not_answer():
    symptoms = find_symptoms((DATA / "refused/0/stderr.txt").read_text().splitlines())
    assert [symptom.kind for symptom in symptoms] == ["failed"]
    assert describe(symptoms).startswith("The client's binding gave up: BENCHSITE FAILED Failed to connect")


def test_it_names_errors_of_the_database():
    assert found("not_loaded/0") == ["error"]


def test_it_counts_repeated_signs_and_puts_the_cause_first():
    lines = ['Exception in thread "main" x', "Error inserting, not retrying any more. number of attempts: 1"] * 3
    symptoms = find_symptoms([*lines, "java.lang.OutOfMemoryError: Java heap space"])
    assert [(symptom.kind, symptom.times) for symptom in symptoms] == [("memory", 1), ("insert", 3), ("thread", 3)]
    assert "(3 times)" in describe(symptoms)


def test_it_quotes_no_endless_line():
    (symptom,) = find_symptoms(["BENCHSITE FAILED " + "x" * 100_000])
    assert len(symptom.line) <= 300


def test_it_finds_the_cause_in_what_others_published():
    text = next(corpus().glob("009_*")).read_text(errors="replace")
    assert "connect" in [symptom.kind for symptom in find_symptoms(text.splitlines())] or "exception" in [
        symptom.kind for symptom in find_symptoms(text.splitlines())
    ]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("Error in processing update to table: usertableorg.example.sql.SQLException: ERROR: retry", ["exception"]),
        ("Command line: -db com.example.FailingException -p jdbc.url=x", []),
        ("10 sec: 14916 operations; 1491.6 current ops/sec; [UPDATE-FAILED: Count=1]", []),
    ],
)
def test_finds_exception_behind_other_words(line, kinds):
    assert [symptom.kind for symptom in find_symptoms([line])] == kinds


@pytest.mark.parametrize("number", ["015", "016"])
def test_finds_exceptions_of_published_outputs(number):
    text = next(corpus().glob(f"{number}_*")).read_text(errors="replace")
    assert [symptom.kind for symptom in find_symptoms(text.splitlines())] == ["exception"]


def test_control_characters_of_a_server_are_replaced():
    (symptom,) = find_symptoms(["BENCHSITE FAILED ERR \x1b[31m\x00\u202eno\tuser"])

    assert symptom.line == "BENCHSITE FAILED ERR \ufffd[31m\ufffd\ufffdno user"

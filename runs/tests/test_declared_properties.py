"""Declared properties accept what they say, in one canonical form, and refuse the rest with what to do about it."""

import pytest

from runs.ycsb.property_schema import Property, PropertyError, check_properties, nearest

SIZE = Property(name="shared_buffers", type="size", least=128 * 1024, most=1024**4)
DURATION = Property(name="wal_writer_delay", type="duration", least=0.001, most=10)
COUNT = Property(name="threads", type="int", least=1, most=1000)
SHARE = Property(name="share", type="float", least=0, most=1)
FLAG = Property(name="flag", type="bool")
MODE = Property(name="mode", type="choice", choices=("always", "everysec", "no"))
NAME = Property(name="name", pattern="[a-z]+", help="Small letters.")
CERTIFICATES = Property(name="ca", type="pem", secret=True)


@pytest.mark.parametrize(
    ("declared", "value", "canonical"),
    [
        (SIZE, "64mb", "64MB"),
        (SIZE, "131072B", "131072B"),
        (SIZE, "1 gb", "1GB"),
        (Property(name="maxmemory", type="size"), "0", "0"),
        (Property(name="wal_buffers", type="size", least=32768, choices=("-1",)), "-1", "-1"),
        (DURATION, "200ms", "200ms"),
        (DURATION, "10S", "10s"),
        (COUNT, "007", "7"),
        (COUNT, 12, "12"),
        (SHARE, "0.50", "0.5"),
        (FLAG, "Yes", "true"),
        (FLAG, False, "false"),
        (MODE, "everysec", "everysec"),
        (NAME, "abc", "abc"),
    ],
)
def test_it_writes_values_in_one_form(declared, value, canonical):
    assert declared.check(value) == canonical
    assert declared.check(canonical) == canonical


@pytest.mark.parametrize(
    ("declared", "value", "advice"),
    [
        (SIZE, "64", "as in 64MB"),
        (SIZE, "64kB", "between 128kB and 1TB"),
        (SIZE, "1.5GB", "whole number"),
        (DURATION, "11s", "between 1ms and 10s"),
        (COUNT, "0", "between 1 and 1000"),
        (COUNT, "1_000", "whole number"),
        (COUNT, "1e3", "whole number"),
        (COUNT, True, "whole number"),
        (SHARE, "nan", "finite"),
        (SHARE, "1.1", "between 0 and 1"),
        (FLAG, "maybe", "true or false"),
        (MODE, "sometimes", "always, everysec, no"),
        (NAME, "ABC", "Small letters."),
        (NAME, "a\nb", "control characters"),
        (Property(name="free"), "a\x00b", "control characters"),
        (Property(name="free"), "a\u2028b", "control characters"),
        (Property(name="free"), "x" * 501, "at most 500"),
        (CERTIFICATES, "file:///etc/ca.pem", "must be PEM text, from -----BEGIN"),
        (CERTIFICATES, "-----BEGIN CERTIFICATE----- MII= -----END PRIVATE KEY-----", "must be PEM text"),
    ],
)
def test_it_refuses_and_says_what_to_write(declared, value, advice):
    with pytest.raises(PropertyError) as refused:
        declared.check(value)
    assert declared.name in str(refused.value)
    assert advice in str(refused.value)


def test_pem_text_is_one_line():
    pem = "-----BEGIN CERTIFICATE-----\nMIIB+/\nAA==\n-----END CERTIFICATE-----\n"
    line = CERTIFICATES.check(pem * 2)
    assert line == " ".join((pem * 2).split()) and CERTIFICATES.check(line) == line


def test_it_never_repeats_a_secret():
    with pytest.raises(PropertyError) as refused:
        Property(name="password", pattern="[a-z]+", secret=True).check("Hunter2")
    assert "Hunter2" not in str(refused.value)


def test_it_names_every_problem_and_the_nearest_name():
    declared = {"redis.port": COUNT, NAME.name: NAME}
    with pytest.raises(PropertyError) as refused:
        check_properties(declared, {"redis.prot": "1", NAME.name: "ABC"})
    assert set(refused.value.problems) == {"redis.prot", NAME.name}
    assert "'redis.port'" in refused.value.problems["redis.prot"]


def test_it_proposes_nothing_where_nothing_is_near():
    assert nearest("zzzzzz", ["redis.port"]) is None


@pytest.mark.parametrize(
    ("declared", "text", "number"), [(SIZE, "64MB", 2**26), (DURATION, "5min", 300), (COUNT, "3", 3)]
)
def test_it_knows_the_number_behind_a_text(declared, text, number):
    assert declared.number(text) == number

"""What a pasted connection string fills in, for the system that was chosen, and what it leaves out aloud."""

import pytest

from runs.catalog import load_catalog
from runs.catalog.connection_strings import ConnectionString, parse_connection_string


def parse(text: str, chosen: str = "redis") -> ConnectionString:
    read = parse_connection_string(text, load_catalog().systems.values(), chosen)
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("text", "chosen", "system"),
    [
        ("redis://10.0.0.5", "redis", "redis"),
        ("redis://10.0.0.5:7000,10.0.0.6:7000", "redis-cluster", "redis-cluster"),
        ("rediss://10.0.0.5", "postgresql", "redis"),
        ("mongodb://10.0.0.5", "ferretdb", "ferretdb"),
        ("mongodb://10.0.0.5", "redis", "mongodb"),
        ("mongodb+srv://cluster0.example.net", "redis", "mongodb"),
        ("mysql://10.0.0.5/shop", "redis", "mariadb"),
        ("jdbc:mysql://10.0.0.5/shop", "redis", "mariadb"),
        ("jdbc:mariadb://10.0.0.5/shop", "redis", "mariadb"),
        ("postgres://10.0.0.5", "redis-cluster", "postgresql"),
    ],
)
def test_scheme_keeps_the_chosen_system_where_it_fits(text, chosen, system):
    assert parse(text, chosen).values["system"] == system


def test_address_without_scheme_is_no_connection_string():
    assert parse_connection_string("10.0.0.5:6379", load_catalog().systems.values()) is None


@pytest.mark.parametrize(
    ("text", "ssl", "ignored"),
    [
        ("postgresql://h/d?sslmode=verify-full&sslrootcert=/etc/ca.pem", "verify-full", ("sslrootcert",)),
        ("postgresql://h/d?sslmode=allow", None, ("sslmode=allow",)),
        ("postgresql://h/d?sslmode=require&sslmode=allow", "require", ("sslmode=allow",)),
        ("rediss://h?ssl=perhaps", "verify-ca", ("ssl=perhaps",)),
        ("rediss://h?tls=", "verify-ca", ("tls=",)),
        ("mongodb+srv://h/?tlsAllowInvalidCertificates=true", "verify-ca", ("tlsAllowInvalidCertificates",)),
        ("mysql://h/d?ssl-mode=VERIFY_IDENTITY&connectTimeout=5", "verify-full", ("connectTimeout",)),
        ("jdbc:mysql://h/d?useSSL=true", "verify-ca", ()),
        ("mysql://h/d?sslMode=REQUIRED", "verify-ca", ()),
        ("postgresql://h/d?sslmode=require", "require", ()),
        ("redis://h?ssl=false", "disable", ()),
    ],
)
def test_options_that_are_not_understood_weaken_nothing(text, ssl, ignored):
    read = parse(text)
    assert (read.values.get("ssl"), read.ignored) == (ssl, ignored)


def test_option_fills_in_the_read_preference():
    read = parse("mongodb://10.0.0.5/shop?readPreference=nearest")
    assert (read.values["read_preference"], read.ignored) == ("nearest", ())


def test_parts_that_the_system_lacks_are_ignored_aloud():
    read = parse("redis://bob:se%40cret@10.0.0.5:7000/3", "redis-cluster")
    assert read.ignored == ("database",) and "database" not in read.values
    assert (read.values["user"], read.values["password"]) == ("bob", "se@cret")

"""Which fields of the form belong to a failure, by the words of servers and drivers."""

import pytest

from runs.catalog import load_catalog
from workers.probe.check_orders import ClientResult
from workers.probe.failure_fields import find_fields
from workers.probe.server_checks import SIGN_IN_FIELDS, judge_clients

POSTGRESQL = load_catalog().system("postgresql")
FULL = 'ERROR: could not extend file "pg_tblspc/16391": No space left on device'


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (FULL, ()),
        ("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", ()),
        ("OOM command not allowed when used memory > 'maxmemory'.", ()),
        ("WRONGPASS invalid username-password pair or user is disabled.", ("user", "password")),
        ('FATAL: password authentication failed for user "bench"', ("user", "password")),
        (
            'FATAL: no pg_hba.conf entry for host "10.0.0.5", user "a", database "b", no encryption',
            ("user", "ssl", "database"),
        ),
        (
            'FATAL: password authentication failed for user "a" FATAL: no pg_hba.conf entry for host "::1", user "a"',
            ("user", "password"),
        ),
        ("SSLHandshakeException: PKIX path building failed", ("ssl", "ca")),
        ("PostgreSQL at 10.0.0.5:5432 has no database nowhere.", ("database",)),
        ("SSL error: tlsv1 alert unknown ca", ("certificate", "key")),
        ("[SSL: SSLV3_ALERT_BAD_CERTIFICATE] sslv3 alert bad certificate (_ssl.c:1010)", ("certificate", "key")),
        ("[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:2590)", ("certificate", "key")),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate in certificate chain", ("ssl", "ca")),
        ("Access denied for user 'a'@'b' (using password: YES)", ("user", "password", "ssl", "certificate", "key")),
        ("NOPERM User bob has no permissions to run the 'hset' command", ("user",)),
        ("ERROR: permission denied for table usertable", ("user",)),
        ("INSERT command denied to user 'obstacle'@'127.0.0.1' for table `usertable`", ("user",)),
        ("no answer within 10 s", ("address", "ssl")),
        ("something that nobody has seen", SIGN_IN_FIELDS),
    ],
)
def test_fields_belong_to_the_failure(text, fields):
    offered = POSTGRESQL.binding.endpoint.sign_in
    assert set(find_fields(text, offered, SIGN_IN_FIELDS)) == set(fields)


def test_only_fields_of_the_system_are_offered():
    assert find_fields("WRONGPASS", ["password"]) == ("password",)


def test_one_failure_of_all_generators_stands_once():
    results = [ClientResult(f"load-{number}", "failed", f"{FULL} (port {number})") for number in (1, 2)]
    results += [ClientResult("load-3", "silent")]

    failure, silence = judge_clients(results, POSTGRESQL, is_new=False)

    assert (failure.generators, failure.fields, failure.outcome) == (("load-1", "load-2"), (), "reject")
    assert (silence.generators, silence.detail) == (("load-3",), "silent")

"""Numbers as people read them."""

import math

import pytest

from benchsite.core import formatting as f

SPACE = f.THIN


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (41_237, "41.2k"),
        (870, "870"),
        (5, "5"),
        (5.0, "5.00"),
        (0, "0"),
        (0.5, "0.500"),
        (999.4, "999"),
        (999.6, "1.00k"),
        (999_960, "1.00M"),
        (1_050_000, "1.05M"),
        (2.5e9, "2.50G"),
        (-1500, f"{f.MINUS}1.50k"),
    ],
)
def test_it_gives_counts_a_letter_and_three_digits(value, shown):
    assert f.short(value) == shown
    assert f.throughput(value) == f"{shown}{SPACE}ops/s"


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (0, "0 µs"),
        (12.345, "12.3 µs"),
        (999.4, "999 µs"),
        (999.7, "1.00 ms"),
        (1200, "1.20 ms"),
        (85_600, "85.6 ms"),
        (2_104_000, "2.10 s"),
        (125_000_000, "125 s"),
    ],
)
def test_it_gives_latencies_the_unit_that_fits(microseconds, shown):
    assert f.latency(microseconds) == shown.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (1000, "1000 B"), (1024, "1.00 KiB"), (100_000_000, "95.4 MiB"), (1.5 * 2**40, "1.50 TiB")],
)
def test_it_gives_sizes_in_binary_units(size, shown):
    assert f.size(size) == shown.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.0123, "12.3 ms"),
        (0.42, "0.42 s"),
        (2.0, "2 s"),
        (2.04, "2.0 s"),
        (17, "17 s"),
        (59.6, "1 min"),
        (252, "4 min 12 s"),
        (3599.9, "1 h"),
        (11_100, "3 h 5 min"),
        (187_200, "2 d 4 h"),
        (-90, f"{f.MINUS}1 min 30 s"),
    ],
)
def test_it_gives_times_by_their_two_largest_parts(seconds, shown):
    assert f.duration(seconds).replace(SPACE, " ") == shown


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [(0.123, "+12.3 %"), (-0.05, f"{f.MINUS}5.00 %"), (0, "0 %"), (2.6, "+260 %"), (0.000716, "+0.072 %")],
)
def test_it_signs_changes(fraction, shown):
    assert f.signed_percent(fraction) == shown.replace(" ", SPACE)


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        (0.5, "50 %"), (0.05, "5 %"), (1 / 3, "33.3 %"), (1, "100 %"), (0.99961, "99.96 %"), (0.000716, "0.072 %"),
        (0.0099612, "1 %"),
    ],
)  # fmt: skip
def test_it_gives_shares_without_empty_digits(fraction, shown):
    assert f.percent(fraction) == shown.replace(" ", SPACE)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "function", [f.short, f.throughput, f.latency, f.size, f.duration, f.signed_percent, f.percent]
)
def test_it_shows_a_dash_where_there_is_no_number(function, value):
    assert function(value) == f.NOTHING


def test_it_never_writes_a_hyphen_for_a_minus():
    for function in (f.short, f.latency, f.size, f.duration, f.signed_percent, f.grouped):
        assert "-" not in function(-1234.5)


def test_it_groups_thousands():
    assert f.grouped(1_234_567) == "1,234,567"
    assert (f.grouped(1.625, 2), f.grouped(2.5), f.grouped(-1e30, 1)) == ("1.63", "3", f"{f.MINUS}1{',000' * 10}.0")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, "5"),
        (5.0, "5"),
        (0.05, "0.05"),
        (0.9999 * 100, "99.99"),
        (12_000, "12,000"),
        (1e-7, "0.0000001"),
        (100.0, "100"),
    ],
)
def test_shows_configured_numbers_as_entered(value, shown):
    assert f.exact(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(41_234.5678, "41,235"), (639.544, "640"), (1.23456, "1.23"), (0.004921, "0.00492"), (12_345, "12,345"), (3, "3"),
     (100.0, "100"), (2.5, "2.5"), (-0.5, f"{f.MINUS}0.5"), (None, f.NOTHING)],
)  # fmt: skip
def test_shows_cells_of_tables_with_three_digits(value, shown):
    assert f.cell(value) == shown


@pytest.mark.parametrize(("ratio", "shown"), [(3.6283, "3.6"), (72.87, "73"), (1.0791, "1.08"), (0.56, "0.56")])
def test_shows_ratios_with_three_digits_near_unity(ratio, shown):
    assert (f.ratio(ratio), f.times(ratio)) == (shown, shown + f.TIMES)


def test_counts_things():
    assert (f.counted(1, "client"), f.counted(1204, "client")) == ("1 client", "1,204 clients")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (10_000, 100_000, "10.0\N{EN DASH}100 ms"),
        (800, 1_200, "0.800\N{EN DASH}1.20 ms"),
        (1_000, 1_000, "1.00 ms"),
        (100_000, None, "≥ 100 ms"),
        (None, 100, "\N{EN DASH}"),
        (0, 256, "0\N{EN DASH}256 µs"),
    ],
)
def test_bounds_of_a_latency_share_a_unit(low, high, text):
    assert f.latency_between(low, high).replace(SPACE, " ") == text


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1.25, 2, "1.3"),
        (1.35, 2, "1.4"),
        (-1.25, 2, f"{f.MINUS}1.3"),
        (0.125, 2, "0.13"),
        (99.96, 3, "100"),
        (2.5, 1, "3"),
        (1240.5, 3, "1241"),
        (0.00123, 3, "0.00123"),
        (1e30, 3, "1" + "0" * 30),
    ],
)
def test_a_half_is_rounded_up_as_people_do_it(value, digits, shown):
    assert f.significant(value, digits) == shown

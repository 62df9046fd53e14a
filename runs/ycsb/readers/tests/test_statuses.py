"""Status lines read all at once say the same as each read alone, however they look."""

import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.readers.statuses import StatusReader, StatusTable
from runs.ycsb.readers.tests.samples import one, read_text, status, statuses, summary
from runs.ycsb.status import HEAD, StatusOperation, parse_status, read_status

FINE = "[READ: Count=1477, Max=4085, Min=0, Avg=567.77, 90=1112, 99=1800, 99.9=3463, 99.99=4085]"
# How versions, measurement types and locales sum an operation up, and what damage leaves of it.
PARTS = [
    FINE,
    FINE.replace("READ", "READ-MODIFY-WRITE"),
    FINE.replace("READ", "Intended-READ"),
    FINE.replace("READ", "USED_MEM_MB"),
    FINE.replace("READ", "P90"),
    FINE.replace("READ", "P99"),
    FINE.replace("567.77", "567,77"),
    FINE.replace("567.77", ".5"),
    FINE.replace("567.77", "600"),
    FINE.replace("90=", "50=3, 90="),
    "[READ: Count=0, Max=0, Min=9223372036854775807, Avg=NaN, 90=0, 99=0, 99.9=0, 99.99=0]",
    "[READ: Count=0, Max=0, Min=9223372036854775807, Avg=\ufffd, 90=0, 99=0, 99.9=0, 99.99=0]",
    "[READ: Count=0, Max=0, Min=0, Avg=0, 50=0, 90=0]",
    "[UPDATE AverageLatency(us)=512.34]",
    "[UPDATE AverageLatency(us)=512,34]",
    "[UPDATE AverageLatency(us)=\u221e]",
    "READ count: 12, average latency(us): 3.40",
    "READ count: 0, average latency(us): NaN",
    "[READ: Count=14",
    "[READ: Count=-5, Max=-1]",
    "[READ: Count=1E7, Avg=1.5E-3]",
    "[READ: Count=12345678901234567890, Max=1]",
    "[READ: Count=5, Max=1.2.3]",
    "[lost], 5, 6",
    "\u0663\u0664",
]
FRONTS = [
    "2026-11-21 03:49:02:245 ", "2026-02-31 03:49:02:245 ", "2026-11-21 03:49:02 ", " ", "", "run1 ",
    "mine2026-11-21 03:49:02:245 ", "run12026-11-21 03:49:02:245 ", "2024-05-01T10:00:00Z 2026-11-21 03:49:02:245 ",
    "12026-11-21 03:49:02:2455 ", "x-1 | 2026-11-21 03:49:02:245 ",
]  # fmt: skip
RATES = ["", *(f" {rate} current ops/sec;" for rate in ("2917.5", "4255,32", "NaN", "\u221e", "-0.17", "1E7"))]
ETAS = ["", " est completion in 8 days 9 hours", " est completion in 106751991167300 days 15 hours"]

lines = st.builds(
    lambda front, second, done, rest: f"{front}{second} sec: {done} operations;{' '.join(rest)} ",
    st.sampled_from(FRONTS),
    st.one_of(st.integers(-5, 99_999), st.integers(10**16, 10**18 - 1)),
    st.one_of(st.integers(0, 10**9), st.integers(10**16, 10**18 - 1)),
    st.tuples(st.sampled_from(RATES), st.sampled_from(ETAS), *([st.sampled_from(["", *PARTS])] * 4)),
)


def digits_changed(line: str, seed: int) -> str:
    """The line with other digits, as the next one of the same kind has."""
    return "".join(str((int(sign) + seed) % 10) if sign.isascii() and sign.isdigit() else sign for sign in line)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(lines, min_size=1, max_size=6), st.lists(st.integers(0, 9), max_size=5))
def test_it_reads_many_as_it_reads_each(made, seeds):
    every = [line.encode() for line in [*made, *(digits_changed(line, seed) for line in made for seed in seeds)]]
    every = [line for line in every if HEAD.search(line)]
    reader = StatusReader()
    table = StatusTable.joined([reader.read(every[:3]), reader.read(every[3:])])
    assert list(table) == [read_status(line) for line in every]


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_it_reads_damaged_lines_as_it_reads_each(data):
    """Digits moved, taken away and put in, so that lines only seem to be of one kind."""
    every = []
    for _ in range(3):
        line = f"2026-11-21 03:49:02:245 17 sec: 2961 operations; 29.5 current ops/sec; {FINE} "
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(line) - 1))
            line = line[:at] + data.draw(st.sampled_from(["", "7", "77", ".", ",", "-", " "])) + line[at + 1 :]
        if HEAD.search(line.encode()):
            every.append(line.encode())
    assert list(StatusReader().read(every)) == [read_status(line) for line in every]


@pytest.mark.slow
@pytest.mark.parametrize("digits", ["7", "9" * 400])
def test_digits_within_its_words_are_damage(digits):
    """Such a line looks like the others without its digits, and is none of them."""
    good = "2026-11-21 03:49:02:245 17 sec: 2961 operations; 29.5 current ops/sec; "
    for at in range(len(good)):
        damaged = f"{good[:at]}{digits}{good[at:]}"
        (run,) = read_text(f"{good}\n{damaged}\n{good}\n[READ], Operations, 5\n")
        known = [line for line in (good, damaged, good) if HEAD.search(line.encode())]
        assert len(run.status) <= len(known)


def test_it_is_a_sequence():
    table = one(statuses(9, "READ", "UPDATE")).status
    assert len(table) == 10
    assert table[-1] == table[9] == table[5:][4] == parse_status(statuses(9, "READ", "UPDATE").splitlines()[-1])
    assert tuple(table) == tuple(table[:]) and table == list(table) and table != list(table)[1:]
    with pytest.raises(IndexError):
        table[10]


def test_it_gives_columns():
    table = one(statuses(9, "READ", "UPDATE") + status(10, 1000, "UPDATE")).status
    assert table.elapsed_s.tolist() == list(range(11))
    assert table.operations_done.tolist() == [100 * second for second in range(11)]
    assert [line.rate_ops_s for line in table[1:]] == [100.0] * 10
    assert (table.at_s[1:] - table.at_s[:-1]).tolist() == [1.0] * 10
    assert table.column("READ", "max")[:10].tolist() == [9000.0 + second for second in range(10)]
    assert str(table.column("READ", "max")[10]) == "nan"
    assert table.column("UPDATE", "count").tolist() == [50.0] * 11


def test_columns_agree_with_lines():
    parts = [part for part in PARTS if not part.startswith("[lost")]
    text = "".join(
        f"2026-11-21 03:49:{at:02d}:245 {at} sec: {at} operations; {part} \n" for at, part in enumerate(parts)
    )
    table = one(text).status
    for name in ("READ", "UPDATE"):
        for field in ("count", "avg", "min", "p99"):
            numbers = [getattr(line.operations.get(name), field, None) for line in table]
            column = [None if value != value else value for value in table.column(name, field).tolist()]
            assert column == [None if number is None else float(number) for number in numbers], (name, field)


def test_a_status_of_two_measurements_goes_on_in_the_next_lines():
    """hdrhistogram+histogram: YCSB puts a line end between the two of each operation."""
    text = "".join(
        f"2026-11-21 03:49:0{second}:245 {second} sec: {second * 10} operations; [HdrREAD: Count=4, Max=5] \n"
        "some driver's line\n"
        "[BucketREAD AverageLatency(us)=4.5] [HdrUPDATE: Count=6, Max=7] \n[BucketUPDATE AverageLatency(us)=6.5] \n"
        for second in range(3)
    )
    for size in (1 << 20, 70):
        (run,) = read_text(text, size)
        assert [list(line.operations) for line in run.status] == [
            ["HdrREAD", "HdrUPDATE", "BucketREAD", "BucketUPDATE"]
        ] * 3
        assert run.status[1].operations["BucketUPDATE"] == StatusOperation(avg=6.5)


def test_it_reads_raw_points_summed_up():
    line = "2026-11-21 03:49:02:245 1 sec: 5 operations; READ count: 5, average latency(us): 3.40 "
    assert one(line + "\n").status[0].operations == {"READ": StatusOperation(5, avg=3.4)}
    text = "1 sec: 5 operations; [HdrREAD: Count=5, Max=7] \nRawREAD count: 5, average latency(us): 3.40 \n"
    assert list(one(text).status[0].operations) == ["HdrREAD", "RawREAD"]


def test_what_the_jvm_says_of_itself_is_left_out():
    status = one(statuses(0, "READ", "USED_MEM_MB", "GCS")).status
    assert (list(status[0].operations), status.names) == (["READ"], ("READ",))


def test_only_so_many_lines_are_kept(monkeypatch):
    monkeypatch.setattr("runs.ycsb.readers.run_builder.MAX_LINES", 50)
    monkeypatch.setattr("runs.ycsb.readers.segments._AT_ONCE", 20)
    run = one(statuses(199, "READ") + summary())
    assert len(run.status) == 58
    assert (run.status[-1].elapsed_s, run.complete) == (199, True)
    assert "Only the first" in run.warnings[-1].text


def test_names_beyond_the_room_for_columns_are_left_out(monkeypatch):
    monkeypatch.setattr("runs.ycsb.readers.statuses._MAX_RARE", 1)
    monkeypatch.setattr("runs.ycsb.readers.statuses._CHARACTERS", 10_000)
    status = one(statuses(9, "READ", "UPDATE")).status
    assert (len(status), status.names) == (10, ("READ",))


def test_the_date_is_read_as_utc():
    assert parse_status("2026-11-21 03:49:02:245 1 sec: 5 operations;").at_s == 1795232942.245
    assert parse_status("mine2026-11-21 03:49:02:245 1 sec: 5 operations;").at_s == 1795232942.245
    assert parse_status("mine 1 sec: 5 operations;").at_s is None

"""The server's own codes of errors in what Benchsite's client says."""

from runs.results.fact_validation import fact_problem
from runs.ycsb.server_codes import MAX_CODES, read_server_codes

OUTPUT = """\
BENCHSITE ERROR INSERT SERVICE_UNAVAILABLE OOM command not allowed when used memory > 'maxmemory'.
BENCHSITE ERRORS INSERT SERVICE_UNAVAILABLE 1000
BENCHSITE CODES INSERT SERVICE_UNAVAILABLE OOM 1000
BENCHSITE CODES READ BAD_REQUEST 42P01 20
BENCHSITE CODES READ BAD_REQUEST
"""


def test_reads_the_codes_of_each_operation():
    codes = read_server_codes(OUTPUT.splitlines())
    assert codes == [("INSERT", "SERVICE_UNAVAILABLE", "OOM", 1000), ("READ", "BAD_REQUEST", "42P01", 20)]
    assert fact_problem("server_codes", [list(code) for code in codes]) == ""


def test_keeps_no_more_than_a_fact_may_have():
    codes = read_server_codes(f"BENCHSITE CODES READ ERROR {number} 1" for number in range(2 * MAX_CODES))
    assert len(codes) == MAX_CODES
    assert fact_problem("server_codes", codes) == ""
    assert fact_problem("server_codes", codes * 2)

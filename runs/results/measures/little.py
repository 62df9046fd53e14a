"""Little's law as a check: do the operations account for the time that the threads had?

In a closed loop N threads have N seconds in every second. The share U = sum over operations of X_op * R_op / N is the
part of them spent in operations. What is missing was spent in the client itself; more than 1 cannot be.
"""


def explained_share(busy_us_and_covered_s: list[tuple[float, float]], threads: int) -> float | None:
    """U, from each client's sum of service times (µs) and the seconds it was counted over; None without threads."""
    if threads < 1 or not busy_us_and_covered_s or any(covered <= 0 for _, covered in busy_us_and_covered_s):
        return None
    return sum(busy / 1e6 / covered for busy, covered in busy_us_and_covered_s) / threads


def edge_allowance(longest_us: float, threads: int, window_s: float) -> float:
    """How far above 1 U may come by operations that began before the window and ended in it.

    An operation is counted where it ends. Each thread can bring at most one from before the window, and it cannot be
    longer than the longest ones seen; so `longest_us` is the sum of the N longest service times in the window.
    """
    if threads < 1 or window_s <= 0:
        return 0.0
    return longest_us / 1e6 / (threads * window_s)

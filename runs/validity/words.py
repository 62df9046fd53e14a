"""Numbers as the findings write them."""


def percent(share: float) -> str:
    """A share with two significant digits, never rounded to 0 or 100 % when it is neither."""
    value = share * 100
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f} %"
    if abs(value) >= 10:
        return f"{value:.1f} %" if 99 < value < 101 and round(value, 1) != round(value) else f"{value:.0f} %"
    return f"{value:.2g} %"


def seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 100 or value == round(value) else f"{value:.3g} s"


def latency(value_us: float) -> str:
    """Microseconds in the unit that reads best."""
    if value_us >= 1e6:
        return f"{value_us / 1e6:,.3g} s"
    return f"{value_us / 1000:.3g} ms" if value_us >= 1000 else f"{value_us:.3g} µs"


def count(number: float) -> str:
    return f"{number:,.0f}"


def rate(value: float) -> str:
    return f"{value:,.0f} ops/s" if value >= 100 else f"{value:.3g} ops/s"


def clients(number: int) -> str:
    return "1 client" if number == 1 else f"{number} clients"

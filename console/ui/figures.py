"""Figures as words: thousands by comma, true minus, unit after a space, unknown is a dash and never 0."""

from datetime import UTC, datetime, timedelta

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
MILLI = 1000


def number(value: float | None, decimals: int = 0) -> str:
    """1872 -> 1,872; -72 -> −72 with a true minus; None -> –."""
    if value is None:
        return DASH
    text = f"{abs(value):,.{decimals}f}"
    is_zero = not any(digit in "123456789" for digit in text)
    return text if value >= 0 or is_zero else MINUS + text


def signed(value: float | None, decimals: int = 0) -> str:
    """A change: +72, −72, 0."""
    text = number(value, decimals)
    return f"+{text}" if value is not None and value > 0 and any(d in "123456789" for d in text) else text


def whole_gpus(milli: int | None) -> str:
    """GPU thousandths as GPUs, with a decimal only where one says something: 12000 -> 12, 500 -> 0.5."""
    if milli is None:
        return DASH
    rest = abs(milli) % MILLI
    if rest == 0:
        return number(milli // MILLI)
    return number(milli / MILLI, 1 if rest % 100 == 0 or abs(milli) >= 10 * MILLI else 2)


def percent(part: float | None, whole: float | None, decimals: int = 1) -> str:
    """Share of a whole as 5.3 %; a dash where the whole is nothing."""
    if part is None or not whole:
        return DASH
    return f"{number(100 * part / whole, decimals)} %"


def duration(seconds: float | None) -> str:
    """2 s, 12 min, 3 h, 2 d: the largest unit that fits, rounded down."""
    if seconds is None:
        return "no data"
    whole = max(0, int(seconds))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def clock(at: datetime | None, *, today: datetime | None = None) -> str:
    """UTC, 24 h: 14:32:08; with the date in front where it is not today's."""
    if at is None:
        return DASH
    moment = at.astimezone(UTC)
    text = f"{moment:%H:%M:%S}"
    if today is not None and moment.date() != today.astimezone(UTC).date():
        return f"{moment:%Y-%m-%d} {text}"
    return text


def age_words(at: datetime, now: datetime) -> str:
    """Relative up to one hour, then a time of day in UTC."""
    past = now - at
    return duration(past.total_seconds()) if past < timedelta(hours=1) else clock(at, today=now)


def size(octets: int | None) -> str:
    """840 B, 12.4 kB, 3.1 MB."""
    if octets is None:
        return DASH
    if octets < 1_000:
        return f"{octets} B"
    return f"{octets / 1_000:,.1f} kB" if octets < 1_000_000 else f"{octets / 1_000_000:,.1f} MB"


def span(first: int, last: int, of: int) -> str:
    """The rows of a page: 1–50 of 318; 0 where there are none."""
    return f"{number(first)}{DASH}{number(last)} of {number(of)}" if of else "0"


def plural(count: int | None, one: str, many: str = "") -> str:
    """1 node, 2 nodes, – nodes."""
    word = one if count == 1 else many or f"{one}s"
    return f"{number(count)} {word}"

"""Text that stands for numbers, dates or durations: how a column writes them, what a cell says."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

from .._utils.arrays import Stored
from .values import DURATIONS, EPOCH, NUMBERS, TIMES, is_missing

# Fraction of the cells that have to be written in one way.
_ENOUGH = 0.95
# Longer cells are none of these.
_LONGEST = 64
_A_DAY = timedelta(days=1)

_DIGIT = re.compile(r"\d")
# Text that stands for a missing value.
_SAY_MISSING = {"", "-", "--", ".", "?", "na", "n/a", "#n/a", "nan", "<na>", "nat", "none", "null"}

_CURRENCY = r"[$€£¥₹]|[A-Z]{3}(?= )"
_MONEY = set("$€£¥₹")
_UNIT = r"[^\W\d_]{1,12}[²³]?|[%‰°$€£¥₹]|°[CF]|[^\W\d_]{1,4}/[^\W\d_]{1,4}[²³]?"
_SIGN = "[-+\u2212]"
_SPACE = r"[ '\u00a0\u202f]"


def _number_pattern(group, decimal):
    """Pattern of numbers whose thousands may be separated by a space or a sign."""
    return re.compile(
        rf"(?P<sign>{_SIGN}?)\s?(?P<before>{_CURRENCY})?\s?(?P<sign2>{_SIGN}?)"
        rf"(?P<whole>[1-9]\d{{0,2}}(?:(?:{group}|{_SPACE})\d{{3}})+|\d+)?(?P<rest>{decimal}\d*)?"
        rf"(?P<exponent>[eE][-+]?\d+)?\s?(?P<after>{_UNIT})?"
    )


_NUMBERS = {"point": _number_pattern(",", r"\."), "comma": _number_pattern(r"\.", ",")}
# Codes with leading zeros, telephone numbers, and what float64 rounds.
_CODE = re.compile(r"0\d+|\+\d{6,}|\d{16,}")
_DOTTED, _LONG_YEAR = re.compile(r"\d\.\d{1,2}\."), re.compile(r"\d{4}")
_TWO_NUMBERS = re.compile(r"\d\D+\d")
_SEASON = re.compile(r"\d{2}(\d{2})[-/](\d{2})")

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?P<year>\d{4}|\d{2})"
_CLOCK = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2}))?)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_BY_NUMBERS = {
    "year": r"(?P<year>\d{4})([-./])(?P<month>\d{1,2})\2(?P<day>\d{1,2})",
    "day": rf"(?P<day>\d{{1,2}})([-./])(?P<month>\d{{1,2}})\2{_YEAR}",
    "month": rf"(?P<month>\d{{1,2}})([-./])(?P<day>\d{{1,2}})\2{_YEAR}",
}
_BY_NAME = (
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[. -]+{_MONTH}[-, ]+{_YEAR}",
    rf"{_MONTH}[ -](?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
    rf"{_MONTH}[ -](?P<year>\d{{4}})",
)


def _compile(date):
    return re.compile(_WEEKDAY + date + _CLOCK, re.IGNORECASE)


_DATES = {first: [_compile(date)] for first, date in _BY_NUMBERS.items()}
_DATES["year"].append(re.compile(r"(?P<year>\d{4})[-/](?P<month>\d{2})"))
_DATES["name"] = list(map(_compile, _BY_NAME))
_HOURS = r"(?:(?P<days>-?\d{1,6}) days?,? \+?)?(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d)"
_SECONDS, _HALF = r":(?P<seconds>[0-5]\d(?:\.\d+)?)", r"(?: ?(?P<half>[ap])\.?m\.?)?"
# Times of day are durations since midnight. A column has seconds or none: 2:50 may be minutes.
_DURATIONS = {
    "minutes": re.compile(_HOURS + _HALF, re.IGNORECASE),
    "seconds": re.compile(_HOURS + _SECONDS + _HALF, re.IGNORECASE),
    "units": re.compile(
        r"(?:(?P<days>\d{1,6}) ?d(?:ays?)?,? ?)?(?:(?P<hours>\d{1,6}) ?h(?:(?:ou)?rs?)?,? ?)?"
        r"(?:(?P<minutes>\d{1,6}) ?m(?:in(?:ute)?s?)?,? ?)?"
        r"(?:(?P<seconds>\d{1,6}) ?s(?:ec(?:ond)?s?)?)?",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True)
class Reading(Stored):
    """How a column of text is read.

    Attributes
    ----------
    kind : NUMBERS, TIMES or DURATIONS
    how : str
        Of numbers the decimal sign, ``"point"`` or ``"comma"``; of dates what stands first,
        ``"year"``, ``"day"`` or ``"month"``, or ``"name"`` if months have names; of durations
        ``"minutes"``, as 2:50, ``"seconds"``, as 2:50:00, or ``"units"``, as 2h 50m.
    unit : str
        That of all numbers; empty if they have none.
    is_assumed : bool
        Whether the cells could be read otherwise.
    """

    kind: str
    how: str
    unit: str = ""
    is_assumed: bool = False

    def check_fields(self, sizes):
        """Check that there is such a reading."""
        ways = {NUMBERS: _NUMBERS, TIMES: _DATES, DURATIONS: _DURATIONS}
        if self.how not in ways.get(self.kind, {}):
            raise ValueError("a reading is unknown")

    def parse(self, text):
        """Read a cell: a number, days since 1970, or days; None if it is something else."""
        text = text.strip()
        if len(text) > _LONGEST:
            return None
        if self.kind == TIMES:
            days = _parse_date(text, self.how)
            return _parse_date(text, "year") if days is None else days  # which is never in doubt
        if self.kind == DURATIONS:
            return _parse_duration(text, self.how)
        found = _parse_number(text, self.how)
        return None if found is None or found[1] != self.unit else found[0]

    def parse_all(self, cells):
        """Read cells, of which some are missing.

        Returns
        -------
        numbers : list of float
            NaN where missing.
        unread : dict
            From each text that is something else to its number of cells.
        """
        numbers, unread = {}, {}
        for text, count in Counter(cell for cell in cells if not is_missing(cell)).items():
            number = None if says_missing(text) else self.parse(text)
            if number is None and not says_missing(text):
                unread[text] = count
            numbers[text] = math.nan if number is None else number
        return [numbers.get(cell, math.nan) for cell in cells], unread

    def show(self, text):
        """Show what a cell that can be read says."""
        value = self.parse(text)
        if self.kind == NUMBERS:
            return f"{value:.12g}"
        if self.kind == DURATIONS:
            return str(value * _A_DAY)
        return (EPOCH + value * _A_DAY).isoformat(" ").removesuffix(" 00:00:00")

    def describe(self):
        """Say in words what it is."""
        if self.kind == NUMBERS:
            unit = f" of {self.unit}" if self.unit else ""
            return f"numbers{unit}, decimal {self.how}"
        if self.kind == DURATIONS:
            return "times of day or durations"
        return "dates, months by name" if self.how == "name" else f"dates, {self.how} first"


def says_missing(text):
    """Whether a cell of text stands for a missing value."""
    return text.strip().lower() in _SAY_MISSING


def find_reading(cells, enough=_ENOUGH):
    """Find how a column of text is to be read.

    Parameters
    ----------
    cells : dict
        From each text to its number of cells.
    enough : float, default=0.95
        Fraction of the cells that have to be written so.

    Returns
    -------
    reading : Reading or None
        None if it holds neither.
    """
    counts = Counter()
    for text, count in cells.items():
        if not says_missing(text):
            counts[text.strip()[: _LONGEST + 1]] += count
    needed = enough * sum(counts.values())
    with_digit = {text: count for text, count in counts.items() if _DIGIT.search(text)}
    if not counts or sum(with_digit.values()) < needed or any(map(_CODE.fullmatch, with_digit)):
        return None
    kinds = _find_dates, _find_durations, _find_numbers
    return next(filter(None, (find(with_digit, needed) for find in kinds)), None)


def _find_dates(cells, needed):
    counts = {
        how: sum(count for text, count in cells.items() if _parse_date(text, how) is not None)
        for how in _DATES
    }
    how = max(counts, key=counts.get)
    if counts[how] < needed or _are_seasons(cells):
        return None
    if counts["day"] < counts[how] or counts["month"] < counts[how]:
        return Reading(TIMES, how)
    # Day and month could be either: with dots the day stands first. With short years, too, they
    # may be versions.
    has_dots, has_years = (any(map(part.search, cells)) for part in (_DOTTED, _LONG_YEAR))
    return Reading(TIMES, "day" if has_dots else "month", is_assumed=not (has_dots and has_years))


def _find_numbers(cells, needed):
    counts = Counter()
    for how in _NUMBERS:
        for text, count in cells.items():
            if (number := _parse_number(text, how)) is not None:
                counts[how, number[1]] += count
    most = max(counts.values(), default=0)
    if most < needed or not most:
        return None
    ways = [Reading(NUMBERS, *key) for key, count in counts.items() if count == most]
    return ways[0] if len(ways) == 1 else _tell_apart(cells, *ways[:2])


def _find_durations(cells, needed):
    for how in _DURATIONS:
        days = {text: _parse_duration(text, how) for text in cells}
        found = [text for text in cells if days[text] is not None]
        # With one number in each cell they are numbers of a unit, or sizes: 10 M and 12 S.
        if sum(map(cells.get, found)) >= needed and any(map(_TWO_NUMBERS.search, found)):
            # Scores and minutes with seconds may look alike.
            is_assumed = how == "minutes" and max(map(days.get, found)) >= 1
            return Reading(DURATIONS, how, is_assumed=is_assumed)
    return None


def _tell_apart(cells, point, comma):
    """Choose between two readings of the same cells, as ``1.234`` may be a thousand and more."""
    pairs = [(point.parse(text), comma.parse(text)) for text in cells]
    pairs = [pair for pair in pairs if None not in pair]
    others = [pair for pair in pairs if pair[0] != pair[1]]
    if not others:
        return point
    is_comma = abs(others[0][1]) > abs(others[0][0])
    plain = [abs(a) for a, b in pairs if a == b]
    # If thousands are separated wherever there are any, the sign stands between thousands; so it
    # does in prices, which have no three decimals.
    if max(plain) < 1000 if plain else is_comma and point.unit in _MONEY:
        return replace(comma, is_assumed=True) if is_comma else point
    return replace(point, is_assumed=True)


def _parse_number(text, how):
    """Read a number and its unit; None if the cell is none."""
    match = _NUMBERS[how].fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match["before"] and match["after"]):
        return None
    whole, rest, sign = match["whole"] or "", match["rest"] or "", match["sign"] + match["sign2"]
    digits = re.sub(r"\D", "", whole)
    is_code = len(digits) > 1 and digits[0] == "0"
    if is_code or len(sign) > 1 or not _DIGIT.search(whole + rest):
        return None
    sign = "-" if sign in ("-", "\u2212") else ""
    number = float(f"{sign}{digits or '0'}.{rest[1:] or '0'}{match['exponent'] or ''}")
    if not math.isfinite(number):
        return None
    return number, (match["before"] or match["after"] or "").casefold()


def _parse_date(text, how):
    """Days since 1970 of a cell, UTC; None if it is no date."""
    if len(text) > _LONGEST:
        return None
    for pattern in _DATES[how]:
        if match := pattern.fullmatch(text):
            return _days_of_match(match.groupdict())
    return None


def _parse_duration(text, how):
    """Days that a cell says, of a time of day since midnight; None if it says none."""
    match = _DURATIONS[how].fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or not _DIGIT.search(text):
        return None
    parts = match.groupdict()
    hours = _hours(parts["hours"], parts.get("half"))
    if hours is None:
        return None
    parts = {name: float(parts.get(name) or 0) for name in ("days", "minutes", "seconds")}
    return timedelta(hours=hours, **parts) / _A_DAY


def _hours(hours, half):
    """Hours since midnight, by a clock of twelve hours if there is a half; None if it has none."""
    hours = int(hours or 0)
    if not half:
        return hours
    return hours % 12 + 12 * (half.lower() == "p") if 1 <= hours <= 12 else None


def _days_of_match(parts):
    year, month = int(parts["year"]), parts["month"][:3].lower()
    if len(parts["year"]) == 2:
        year += 1900 if year > 68 else 2000  # as in POSIX
    month = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    hour = _hours(parts.get("hour"), parts.get("half"))
    if hour is None:
        return None
    minute, second = (int(parts.get(name) or 0) for name in ("minute", "second"))
    try:
        moment = datetime(year, month, int(parts.get("day") or 1), hour, minute, second)
        moment += timedelta(microseconds=int((parts.get("part") or "0")[:6].ljust(6, "0")))
        return (moment - _offset(parts.get("zone")) - EPOCH) / _A_DAY
    except (ValueError, OverflowError):
        return None


def _offset(zone):
    if zone is None or zone[0] not in "+-":
        return timedelta()
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    timezone(offset)  # which refuses a day and more
    return -offset if zone[0] == "-" else offset


def _are_seasons(cells):
    """Whether all are a year and the next, as 2012-13."""
    found = [_SEASON.fullmatch(text) for text in cells]
    return all(match and int(match[2]) == (int(match[1]) + 1) % 100 for match in found)

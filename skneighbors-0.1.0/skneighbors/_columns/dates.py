"""Columns of dates, text that stands for dates, and what repeats in them."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from .base import Features, Quantity
from .column import EPOCH, TIMES

_A_DAY = timedelta(days=1)
_MICROSECONDS_A_DAY = 86_400_000_000
# In days, as floats, a whole hour may be just below itself.
_ROUNDING = 1e-8

_SEASON = re.compile(r"\d{2}(\d{2})[-/](\d{2})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAME = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR, _ANY_YEAR = r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d{2})"
_MONTH, _DAY, _SEP = r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})", r"(?P<sep>[-./])"
_CLOCK = (
    r"(?:[T ,]+(?P<hours>[01]?\d|2[0-3]):(?P<minutes>[0-5]\d)"
    r"(?::(?P<seconds>[0-5]\d(?:[.,]\d+)?))?(?: ?(?P<half>[ap])\.?m\.?)?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2}))?)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_DATES = {
    "year": (
        rf"{_YEAR}{_SEP}{_MONTH}(?P=sep){_DAY}",
        rf"{_YEAR}[-/](?P<month>\d{{2}})",
        rf"{_YEAR}[- ]{_NAME}",
        rf"{_YEAR}[- ]?Q(?P<quarter>[1-4])",
        rf"{_YEAR}-?W(?P<week>\d{{2}})(?:-?(?P<weekday>[1-7]))?",
    ),
    "day": (rf"{_DAY}{_SEP}{_MONTH}(?P=sep){_ANY_YEAR}",),
    "month": (
        rf"{_MONTH}{_SEP}{_DAY}(?P=sep){_ANY_YEAR}",
        rf"{_MONTH}[-/](?P<year>(?:1[5-9]|2[01])\d{{2}})",
    ),
    "short year": (r"(?P<year>\d{2})([-./])(?P<month>\d{2})\2(?P<day>\d{2})",),
    "quarter": (rf"(?=Q|.Q)Q?(?P<quarter>[1-4])Q?[-/ ']*{_ANY_YEAR}",),
    "name": (
        rf"{_DAY}(?:st|nd|rd|th)?[. -]+{_NAME}[-, ]+{_ANY_YEAR}",
        rf"{_NAME}[ -]{_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
        rf"{_NAME}(?:[-/ ]*(?=\d{{4}})|[-/ ]*[-/'\u2019]){_ANY_YEAR}",
    ),
}
_STYLES = {
    how: [re.compile(_WEEKDAY + date + _CLOCK, re.IGNORECASE) for date in dates]
    for how, dates in _DATES.items()
}
# Years of two digits mean none later than in so many years; a longer span of them is doubted, and
# years to come.
_YEARS_AHEAD, _LONG_SPAN = 20, 80
# So many different numbers up to 31 may be days rather than years.
_MANY_DAYS = 20


def _months(days):
    return np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12 + 1


def _weekdays(days):
    return (np.floor(days).astype(np.int64) + 3) % 7  # from Monday, 0; 1970 began on a Thursday


def _hours(days):
    return np.floor((days - np.floor(days)) * 24 + _ROUNDING)


_PARTS = {"month": _months, "weekday": _weekdays, "hour": _hours}


@dataclass(frozen=True, eq=False)
class Dates(Quantity):
    """Dates as days since 1970, with their months, weekdays and hours beside them.

    Attributes
    ----------
    how : {"year", "day", "month", "short year", "quarter", "name"} or None
        What stands first in text; "name" if months have names.
    is_assumed : bool
    parts : tuple of str
        Which parts differ among the training samples.
    since : int
        The first of the hundred years that two digits mean.
    """

    parts: tuple = ()
    since: int = 1969  # as in POSIX

    name = TIMES
    styles = _STYLES
    conversion = "pandas.to_datetime(..., errors='coerce')"

    @classmethod
    def find(cls, texts, needed):
        """Find what stands first in most cells, and the century of years of two digits."""
        found = {how: _match_all(texts, how) for how in _STYLES}
        counts = {how: sum(map(texts.get, dates)) for how, dates in found.items()}
        how = max(counts, key=counts.get)
        if counts[how] < needed or _are_seasons(texts):
            return None
        ties = {own: found[own].values() for own in found if counts[own] == counts[how]}
        is_assumed = {"day", "month"} <= ties.keys()
        if is_assumed:
            how, is_assumed = _choose_order(ties)
        days, years = (_values(ties[how], part) for part in ("day", "year"))
        if not (short := {int(year) for year in years if len(year) == 2}):
            return cls(how, is_assumed)
        # A year may be a day, too, if it takes as many values.
        may_be_days = max(short) <= 31 and len(short) >= (len(days) or _MANY_DAYS)
        if "short year" in ties.keys() - {how} or not days:
            is_assumed |= may_be_days or short == {1}
        since, is_far = _find_century(short)
        return cls(how, is_assumed or is_far, since=since)

    def parse_stripped(self, text):
        """Read days since 1970; with the year first, which is never in doubt, in any column."""
        parts = _match(text, self.how) or _match(text, "year")
        return parts and _days_of(parts, self.since)

    def learn(self, block, rows):
        """Find which parts differ."""
        days = block[~np.isnan(block[:, 0]) & (rows.weight > 0), 0]
        parts = [part for part, take in _PARTS.items() if len(np.unique(take(days))) > 1]
        return replace(self, parts=tuple(parts)), block

    def features(self, block):
        """Days, and the parts; NaN without a date."""
        days = np.nan_to_num(block)
        parts = [np.where(np.isnan(block), np.nan, _PARTS[part](days)) for part in self.parts]
        return Features(block, np.hstack(parts) if parts else None)

    def decode_present(self, block):
        """Make dates of days."""
        microseconds = np.rint(block[:, 0] * _MICROSECONDS_A_DAY).astype("timedelta64[us]")
        return (np.datetime64(EPOCH) + microseconds).astype(object)

    def show(self, text):
        """Show the date that a cell says."""
        return (EPOCH + self.parse(text) * _A_DAY).isoformat(" ").removesuffix(" 00:00:00")

    def describe(self):
        """Say in words what the column is read as."""
        how = {None: "", "name": ", months by name"}.get(self.how, f", {self.how} first")
        return self.name + how

    def _check_fields(self, sizes):
        """Raise ValueError if text cannot be read so, or dates have no such parts."""
        super()._check_fields(sizes)
        if not set(_PARTS).issuperset(self.parts):
            raise ValueError("parts are no parts of dates")


def _match(text, how):
    """Parts of a date by their names; None if a cell is none."""
    matches = (pattern.fullmatch(text) for pattern in _STYLES[how])
    parts = next((match.groupdict() for match in matches if match), None)
    return None if parts is None or _days_of(parts, Dates.since) is None else parts


def _match_all(texts, how):
    """Parts of the texts that are dates."""
    return {text: parts for text in texts if (parts := _match(text, how)) is not None}


def _values(matches, part):
    return {parts[part] for parts in matches if parts.get(part)}


def _choose_order(ties):
    """Choose between the day and the month as first, and say whether that is a guess.

    The day is what never varies, as in a series of months; else it stands first with dots. With
    short years, too, they may be versions.
    """
    fixed = [how for how in ("day", "month") if len(_values(ties[how], "day")) == 1]
    has_dots = "." in _values(ties["day"], "sep")
    is_short = max(map(len, _values(ties["day"], "year"))) == 2
    how = fixed[0] if len(fixed) == 1 else "day" if has_dots else "month"
    return how, is_short if has_dots else len(fixed) != 1


def _find_century(years):
    """First of the hundred years that two digits mean, and whether those of a column reach far.

    They begin behind the widest gap, and end as late as they may.
    """
    latest, years = datetime.now().year + _YEARS_AHEAD, sorted(years)
    pairs = pairwise([years[-1], *years])
    span, back = min(((last - first) % 100, (latest - last) % 100) for last, first in pairs)
    return latest - max(back + span, 99), span > _LONG_SPAN or back < _YEARS_AHEAD


def parse_clock(parts):
    """Duration, or time since midnight, of what a pattern found; None if there is no such hour."""
    names = ("days", "hours", "minutes", "seconds")
    days, hours, *others = (float((parts.get(name) or "0").replace(",", ".")) for name in names)
    if half := parts.get("half"):
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + 12 * (half in "pP")
    return timedelta(days, others[1], minutes=others[0], hours=hours)


def _days_of(parts, since):
    """Days since 1970, UTC; None if there is no such date."""
    of, clock = parts.get, parse_clock(parts)
    year, month = int(parts["year"]), (of("month") or "1")[:3].lower()
    if len(parts["year"]) == 2:
        year = since + (year - since) % 100
    month = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    try:
        day = datetime(year, month + 3 * int(of("quarter") or 1) - 3, int(of("day") or 1))
        if of("week"):
            day = datetime.fromisocalendar(year, int(of("week")), int(of("weekday") or 1))
        offset = timedelta()
        if (zone := of("zone") or "Z")[0] in "+-":
            offset = datetime.strptime(zone, "%z").utcoffset()
        return None if clock is None else (day + clock - offset - EPOCH) / _A_DAY
    except (ValueError, OverflowError):
        return None


def _are_seasons(texts):
    """Whether all are a year and the next, as 2012-13."""
    found = [_SEASON.fullmatch(text) for text in texts]
    return all(match and int(match[2]) == (int(match[1]) + 1) % 100 for match in found)

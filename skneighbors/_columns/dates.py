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

_DOTTED, _LONG_YEAR = re.compile(r"\d\.\d{1,2}\."), re.compile(r"\d{4}")
_SEASON = re.compile(r"\d{2}(\d{2})[-/](\d{2})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_LONG, _YEAR, _DAY = r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d{2})", r"(?P<day>\d{1,2})"
_NUMBER = r"(?P<month>\d{1,2})"
_CLOCK = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?P<zone>Z|UTC|GMT|[-+]\d{2}:?\d{2}))?)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
# By what stands first. A year of two digits stands first in dates of two digits each alone.
_DATES = {
    "year": [
        rf"{_LONG}([-./]){_NUMBER}\2{_DAY}",
        rf"{_LONG}[-/](?P<month>\d{{2}})",
        rf"{_LONG}[- ]?Q(?P<quarter>[1-4])",
        rf"{_LONG}-?W(?P<week>\d{{2}})(?:-?(?P<weekday>[1-7]))?",
        rf"{_LONG}[- ]{_MONTH}",
    ],
    "day": [rf"{_DAY}([-./]){_NUMBER}\2{_YEAR}"],
    "month": [
        rf"{_NUMBER}([-./]){_DAY}\2{_YEAR}",
        rf"{_NUMBER}[-/](?P<year>(?:1[5-9]|2[01])\d{{2}})",
    ],
    "short year": [r"(?P<year>\d{2})([-./])(?P<month>\d{2})\2(?P<day>\d{2})"],
    "quarter": [rf"(?=Q|.Q)Q?(?P<quarter>[1-4])Q?[-/ ']*{_YEAR}"],
    "name": [
        rf"{_DAY}(?:st|nd|rd|th)?[. -]+{_MONTH}[-, ]+{_YEAR}",
        rf"{_MONTH}[ -]{_DAY}(?:st|nd|rd|th)?,? {_LONG}",
        rf"{_MONTH}(?:[-/ ]*(?=\d{{4}})|[-/ ]*[-/'\u2019]){_YEAR}",
    ],
}
_STYLES = {
    first: [re.compile(_WEEKDAY + date + _CLOCK, re.IGNORECASE) for date in dates]
    for first, dates in _DATES.items()
}
# Years of two digits mean none later than in so many years; a longer span of them is doubted.
_YEARS_AHEAD, _LONG_SPAN = 20, 80
# So many different numbers up to 31 are days rather than years.
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
        counts = {how: sum(map(texts.get, parts)) for how, parts in found.items()}
        most = max(counts.values())
        if most < needed or _are_seasons(texts):
            return None
        fitting = {how: found[how].values() for how in found if counts[how] == most}
        how, is_assumed = _choose_order(fitting, texts)
        days, years = (_values(fitting[how], part) for part in ("day", "year"))
        short = {int(year) for year in years if len(year) == 2}
        if not short:
            return cls(how, is_assumed)
        # A year may be a day, too, if it takes as many values.
        may_be_days = len(short) >= len(days or range(_MANY_DAYS)) and max(short) <= 31
        if len(fitting) > 1 or not days:
            is_assumed = is_assumed or may_be_days or short == {1}
        since, span = _find_century(short)
        return cls(how, is_assumed or span > _LONG_SPAN, since=since)

    def parse_stripped(self, text):
        """Read days since 1970; with the year first, which is never in doubt, in any column."""
        parts = _match(text, self.how) or _match(text, "year")
        return parts and _days_of_match(parts, self.since)

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
    return None if parts is None or _days_of_match(parts, Dates.since) is None else parts


def _match_all(texts, how):
    """Parts of the texts that are dates."""
    return {text: parts for text in texts if (parts := _match(text, how)) is not None}


def _values(matches, part):
    return {parts[part] for parts in matches if parts.get(part)}


def _choose_order(fitting, texts):
    """Choose what stands first, and say whether that is a guess.

    If day and month could be either, the day is what never varies, as in a series of months; else
    it stands first with dots. With short years, too, they may be versions.
    """
    orders = [how for how in ("day", "month") if how in fitting]
    if len(orders) < 2:
        return next(iter(fitting)), False
    fixed = [how for how in orders if len(_values(fitting[how], "day")) == 1]
    has_dots, has_years = (any(map(part.search, texts)) for part in (_DOTTED, _LONG_YEAR))
    if len(fixed) == 1:
        return fixed[0], has_dots and not has_years
    return ("day", not has_years) if has_dots else ("month", True)


def _find_century(years):
    """First of the hundred years that two digits mean, and how far those of a column reach.

    They begin behind the widest gap, and end as late as they may.
    """
    latest, ordered = datetime.now().year + _YEARS_AHEAD, sorted(years)
    gaps = [(b - a) % 100 or 100 for a, b in pairwise([ordered[-1], *ordered])]
    spans = [100 - gap for gap in gaps]
    starts = [
        latest - span - (latest - span - year) % 100
        for year, span in zip(ordered, spans, strict=True)
    ]
    span, start = min(zip(spans, (-start for start in starts), strict=True))
    return min(-start, latest - 99), span


def parse_hours(hours, half):
    """Hours since midnight, by a clock of twelve hours if there is a half; None if it has none."""
    hours = int(hours or 0)
    if not half:
        return hours
    return hours % 12 + 12 * (half.lower() == "p") if 1 <= hours <= 12 else None


def _days_of_match(parts, since):
    """Days since 1970, UTC; None if there is no such date."""
    year, month = int(parts["year"]), (parts.get("month") or "1")[:3].lower()
    if len(parts["year"]) == 2:
        year = since + (year - since) % 100
    month = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    month += 3 * (int(parts.get("quarter") or 1) - 1)
    hour = parse_hours(parts.get("hour"), parts.get("half"))
    if hour is None:
        return None
    minute, second = (int(parts.get(name) or 0) for name in ("minute", "second"))
    try:
        moment = datetime(year, month, int(parts.get("day") or 1), hour, minute, second)
        if parts.get("week"):
            moment = datetime.fromisocalendar(
                year, *(int(parts[n] or 1) for n in ("week", "weekday"))
            )
        moment += timedelta(microseconds=int((parts.get("part") or "0")[:6].ljust(6, "0")))
        zone = parts.get("zone") or "Z"
        offset = datetime.strptime(zone, "%z").utcoffset() if zone[0] in "+-" else timedelta()
        return (moment - offset - EPOCH) / _A_DAY
    except (ValueError, OverflowError):
        return None


def _are_seasons(texts):
    """Whether all are a year and the next, as 2012-13."""
    found = [_SEASON.fullmatch(text) for text in texts]
    return all(match and int(match[2]) == (int(match[1]) + 1) % 100 for match in found)

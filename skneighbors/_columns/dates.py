"""Columns of dates, text that stands for dates, and what repeats in them."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

import numpy as np

from .base import Features, Quantity
from .column import EPOCH, LONGEST_NUMERAL, TIMES

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


_STYLES = {first: [_compile(date)] for first, date in _BY_NUMBERS.items()}
_STYLES["year"].append(re.compile(r"(?P<year>\d{4})[-/](?P<month>\d{2})"))
_STYLES["name"] = list(map(_compile, _BY_NAME))


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
    how : {"year", "day", "month", "name"} or None
        What stands first in text; "name" if months have names.
    is_assumed : bool
    parts : tuple of str
        Which parts differ among the training samples.
    """

    parts: tuple = ()

    name = TIMES
    styles = _STYLES
    conversion = "pandas.to_datetime(..., errors='coerce')"

    @classmethod
    def find(cls, texts, needed):
        """Find what stands first in most cells."""
        counts = {
            how: sum(count for text, count in texts.items() if _parse_date(text, how) is not None)
            for how in _STYLES
        }
        how = max(counts, key=counts.get)
        if counts[how] < needed or _are_seasons(texts):
            return None
        if counts["day"] < counts[how] or counts["month"] < counts[how]:
            return cls(how)
        # Day and month could be either: with dots the day stands first. With short years, too,
        # they may be versions.
        has_dots, has_years = (any(map(part.search, texts)) for part in (_DOTTED, _LONG_YEAR))
        return cls("day" if has_dots else "month", is_assumed=not (has_dots and has_years))

    def parse_stripped(self, text):
        """Read days since 1970; with the year first, which is never in doubt, in any column."""
        days = _parse_date(text, self.how)
        return _parse_date(text, "year") if days is None else days

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


def _parse_date(text, how):
    """Days since 1970 of a cell, UTC; None if it is no date."""
    if len(text) > LONGEST_NUMERAL:
        return None
    for pattern in _STYLES[how]:
        if match := pattern.fullmatch(text):
            return _days_of_match(match.groupdict())
    return None


def parse_hours(hours, half):
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
    hour = parse_hours(parts.get("hour"), parts.get("half"))
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


def _are_seasons(texts):
    """Whether all are a year and the next, as 2012-13."""
    found = [_SEASON.fullmatch(text) for text in texts]
    return all(match and int(match[2]) == (int(match[1]) + 1) % 100 for match in found)

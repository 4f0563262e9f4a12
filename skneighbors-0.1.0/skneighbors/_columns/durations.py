"""Columns of durations and times of day, and text that stands for these."""

import re
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from .base import Quantity
from .column import DIGIT, DURATIONS
from .dates import parse_clock

_A_DAY = timedelta(days=1)
_TWO_NUMBERS = re.compile(r"\d\D+\d")
_HOURS = r"(?:(?P<days>-?\d{1,6}) days?,? \+?)?(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d)"
_SECONDS, _HALF = r":(?P<seconds>[0-5]\d(?:\.\d+)?)", r"(?: ?(?P<half>[ap])\.?m\.?)?"
# Times of day are durations since midnight. A column has seconds or none: 2:50 may be minutes.
_STYLES = {
    "minutes": re.compile(_HOURS + _HALF, re.IGNORECASE),
    "seconds": re.compile(_HOURS + _SECONDS + _HALF, re.IGNORECASE),
    "units": re.compile(
        r"(?:(?P<days>\d{1,6}) ?d(?:ays?)?,? ?)?(?:(?P<hours>\d{1,6}) ?h(?:(?:ou)?rs?)?,? ?)?"
        r"(?:(?P<minutes>\d{1,6}) ?m(?:in(?:ute)?s?)?,? ?)?"
        r"(?:(?P<seconds>\d{1,6}) ?s(?:ec(?:ond)?s?)?)?",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True, eq=False)
class Durations(Quantity):
    """Durations in days; of times of day, those since midnight.

    Attributes
    ----------
    how : {"minutes", "seconds", "units"} or None
        Text as 2:50, as 2:50:00, or as 2h 50m.
    is_assumed : bool
    """

    name = DURATIONS
    styles = _STYLES
    conversion = "pandas.to_timedelta(..., errors='coerce') of hh:mm:ss"

    @classmethod
    def find(cls, texts, needed):
        """Find how most cells are written."""
        for how in _STYLES:
            days = {text: cls(how).parse_stripped(text) for text in texts}
            found = [text for text in texts if days[text] is not None]
            # With one number in each cell they are numbers of a unit, or sizes: 10 M and 12 S.
            if sum(map(texts.get, found)) >= needed and any(map(_TWO_NUMBERS.search, found)):
                # Scores and minutes with seconds may look alike.
                return cls(how, is_assumed=how == "minutes" and max(map(days.get, found)) >= 1)
        return None

    def parse_stripped(self, text):
        """Read days; of a time of day, those since midnight."""
        match = _STYLES[self.how].fullmatch(text)
        clock = parse_clock(match.groupdict()) if match and DIGIT.search(text) else None
        return None if clock is None else clock / _A_DAY

    def decode_present(self, block):
        """Make durations of days."""
        return (
            np.rint(block[:, 0] * (_A_DAY / timedelta.resolution)).astype("m8[us]").astype(object)
        )

    def show(self, text):
        """Show the duration that a cell says."""
        return str(self.parse(text) * _A_DAY)

    def describe(self):
        """Say in words what the column is read as."""
        return self.name if self.how is None else "times of day or durations"

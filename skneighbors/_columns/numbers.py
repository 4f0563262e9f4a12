"""Columns of numbers, and text that stands for numbers, with a unit and separators."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace

from .base import Quantity
from .column import DIGIT, LONGEST_NUMERAL, NUMBERS

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


_STYLES = {"point": _number_pattern(",", r"\."), "comma": _number_pattern(r"\.", ",")}


@dataclass(frozen=True, eq=False)
class Numbers(Quantity):
    """Numbers, scaled for networks and ranked for likeness.

    Attributes
    ----------
    how : {"point", "comma"} or None
        The decimal sign of text.
    is_assumed : bool
    unit : str
        That of all texts; empty if they have none.
    """

    unit: str = ""

    name = NUMBERS
    styles = _STYLES
    conversion = "pandas.to_numeric(..., errors='coerce')"

    @classmethod
    def find(cls, texts, needed):
        """Find the sign and the unit that most cells have."""
        counts = Counter()
        for how in _STYLES:
            for text, count in texts.items():
                if (number := _parse_number(text, how)) is not None:
                    counts[how, number[1]] += count
        most = max(counts.values(), default=0)
        if most < needed or not most:
            return None
        ways = [cls(how, unit=unit) for (how, unit), count in counts.items() if count == most]
        return ways[0] if len(ways) == 1 else _tell_apart(texts, *ways[:2])

    def parse_stripped(self, text):
        """Read a number of the unit."""
        found = _parse_number(text, self.how)
        return None if found is None or found[1] != self.unit else found[0]

    def show(self, text):
        """Show the number that a cell says."""
        return f"{self.parse(text):.12g}"

    def describe(self):
        """Say in words what the column is read as."""
        unit = f" of {self.unit}" if self.unit else ""
        return self.name if self.how is None else f"numbers{unit}, decimal {self.how}"


def _tell_apart(texts, point, comma):
    """Choose between two readings of the same cells, as ``1.234`` may be a thousand and more."""
    pairs = [(point.parse(text), comma.parse(text)) for text in texts]
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
    match = _STYLES[how].fullmatch(text) if len(text) <= LONGEST_NUMERAL else None
    if match is None or (match["before"] and match["after"]):
        return None
    whole, rest, sign = match["whole"] or "", match["rest"] or "", match["sign"] + match["sign2"]
    digits = re.sub(r"\D", "", whole)
    is_code = len(digits) > 1 and digits[0] == "0"
    if is_code or len(sign) > 1 or not DIGIT.search(whole + rest):
        return None
    sign = "-" if sign in ("-", "\u2212") else ""
    number = float(f"{sign}{digits or '0'}.{rest[1:] or '0'}{match['exponent'] or ''}")
    if not math.isfinite(number):
        return None
    return number, (match["before"] or match["after"] or "").casefold()

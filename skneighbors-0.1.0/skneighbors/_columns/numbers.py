"""Columns of numbers, and text that stands for numbers, with a unit and separators."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

from .base import Quantity
from .column import DIGIT, ENOUGH, NUMBERS

# By sign, code or name.
CURRENCY = (
    r"(?:[A-Z]{0,3}[$¢£¤¥\u0e3f\u20a0-\u20cf]|(?:AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|"
    r"IDR|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RMB|RUB|SEK|SGD|THB|TRY|USD|VND|ZAR|[Rr]s|[Kk]r|Fr|zł|"
    r"Kč|\u0440\u0443\u0431|euros?|dollars?|yen)(?![^\W\d_])\.?)"
)
_FACTORS = {"k": 1e3, "thousand": 1e3, "lac": 1e5, "lakh": 1e5, "m": 1e6, "mn": 1e6}
_FACTORS |= {"million": 1e6, "cr": 1e7, "crore": 1e7, "b": 1e9, "bn": 1e9, "billion": 1e9}
_SCALE = re.compile(rf"({'|'.join(_FACTORS)})s?\s?((?-i:{CURRENCY})?)", re.IGNORECASE)
_SIGN, _SPACE = "[-+\u2212\u2013]", r"[ '\u2019\u00a0\u2009\u202f]"
_DECIMAL = re.compile(r"\d+\.(\d{1,2})")
_THOUSAND = re.compile(r"\D*[1-9]\d{0,2}([.,])\d{3}\D*")
_NO_LETTERS = re.compile(r"[\W\d_]+")
# Digits of one width may be codes, from so many on.
_CODE_WIDTH = 5
# So many cells, and so large a fraction of them, are no slip: they say what the column holds.
_SOME, _FRACTION = 2, 0.01


def _number_pattern(group, decimal):
    """Pattern of numbers whose thousands may be separated by a space or a sign."""
    lakhs = r"\d?(?:,\d{2})+,\d{3}|" if group == "," else ""
    return re.compile(
        rf"(?P<sign>{_SIGN}?)\s?(?P<money>(?:{CURRENCY})?)\s?(?P<sign2>{_SIGN}?)"
        rf"(?P<whole>[1-9](?:{lakhs}\d{{0,2}}(?:(?:{group}|{_SPACE})\d{{3}})+)|\d*)"
        rf"(?:(?P<rest>{decimal}\d+)|{decimal}(?:[-\u2013]+|$))?(?P<exponent>(?:[eE][-+]?\d+)?)"
        r"\s?(?P<after>(?:[^\d\s.,:;=_)\-\u2013]\D{0,19}(?:(?<=m)[23])?)?)"
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
        What stands around the numbers of all texts; empty if that is nothing.
    is_scaled : bool
        Whether K, M and such are factors where there is no currency, too.
    """

    unit: str = ""
    is_scaled: bool = False

    name = NUMBERS
    styles = _STYLES
    conversion = "pandas.to_numeric(..., errors='coerce')"

    @classmethod
    def find(cls, texts, needed):
        """Find the sign and the unit that most cells have; none of codes that begin with 0."""
        counts, width = _count_units(texts, False), _find_width(texts)
        if is_scaled := _are_factors(counts):
            counts = _count_units(texts, True)
        most = max(counts.values(), default=0)
        n_zeros = sum(n for text, n in texts.items() if text[0] == "0" and width > 1)
        if most < needed or not most or _are_some(n_zeros, texts):
            return None
        ways = [cls(*way[:1], False, *way[1:], is_scaled) for way in counts if counts[way] == most]
        found = ways[0] if len(ways) == 1 else _tell_apart(texts, *ways[:2])
        is_word = found.unit and not re.fullmatch(f"{CURRENCY}|%", found.unit, re.IGNORECASE)
        if is_word and len({None, *map(found.parse, texts)}) == 2:
            return None  # a word beside one number is the name of a category
        is_odd = width >= _CODE_WIDTH or _may_be_versions(texts) or _are_mixed(texts)
        return replace(found, is_assumed=True) if is_odd else found

    def loses(self, texts):
        """Whether units differ, or digits of one width repeat, as those of codes."""
        if not self.unit:
            repeats = len(texts) < 0.5 * sum(texts.values())
            is_round = all(text.endswith("0") for text in texts)
            return _find_width(texts) >= _CODE_WIDTH and repeats and not is_round
        units = _count_units(texts, self.is_scaled)
        others = sum(n for (how, unit), n in units.items() if how == self.how and unit)
        return _are_some(others - units[self.how, self.unit], texts)

    def parse_stripped(self, text):
        """Read a number of the unit."""
        found = _parse_number(text, self.how, self.is_scaled)
        return None if found is None or found[1] != self.unit else found[0]

    def show(self, text):
        """Show the number that a cell says."""
        return f"{self.parse(text):.12g}"

    def describe(self):
        """Say in words what the column is read as."""
        unit = f" of {self.unit}" if self.unit else ""
        return self.name if self.how is None else f"numbers{unit}, decimal {self.how}"


def _are_some(count, texts):
    return count >= max(_SOME, _FRACTION * sum(texts.values()))


def _count_units(texts, is_scaled):
    """Count the cells by how they are read, and what stands around the number."""
    counts = Counter()
    for how, (text, count) in product(_STYLES, texts.items()):
        if (number := _parse_number(text, how, is_scaled)) is not None:
            counts[how, number[1]] += count
    return counts


def _are_factors(counts):
    """Whether the units are K, M and such, and at least two of them."""
    units = [(unit, count) for (_, unit), count in counts.items() if unit]
    factors = [(_FACTORS[unit], count) for unit, count in units if unit in _FACTORS]
    n_scaled, n_all = (sum(count for _, count in pairs) for pairs in (factors, units))
    return len(dict(factors)) > 1 and n_scaled >= ENOUGH * n_all


def _find_width(texts):
    """Width of the digits that cells are; 0 if that differs, or they are others."""
    widths = Counter()
    for text, count in texts.items():
        widths[len(text) * text.isdecimal()] += count
    ((width, count),) = widths.most_common(1)
    return width if count >= ENOUGH * sum(texts.values()) else 0


def _may_be_versions(texts):
    """Whether whole numbers behind the point go on from 9 to 10."""
    places = {match[1] for match in map(_DECIMAL.fullmatch, texts) if match}
    return "10" in places and min(map(len, places)) == 1


def _are_mixed(texts):
    """Whether both signs may stand between thousands, or units differ by case, as mW and MW."""
    signs = {match[1] for match in map(_THOUSAND.fullmatch, texts) if match}
    units = {_NO_LETTERS.sub("", text) for text in texts}
    return len(signs) > 1 or len(set(map(str.casefold, units))) < len(units)


def _tell_apart(texts, point, comma):
    """Choose between two readings of the same cells, as ``1.234`` may be a thousand and more."""
    pairs = [(point.parse(text), comma.parse(text)) for text in texts]
    pairs = [pair for pair in pairs if None not in pair]
    others = [pair for pair in pairs if pair[0] != pair[1]]
    if not others:
        return point
    is_comma = sum(abs(b) > abs(a) for a, b in others) > len(others) / 2
    plain = [abs(a) for a, b in pairs if a == b]
    # If thousands are separated wherever there are any, the sign stands between thousands; so it
    # does in prices, which have no three decimals.
    is_money = re.match(CURRENCY, point.unit, re.IGNORECASE) is not None
    if max(plain) < 1000 if plain else is_comma and is_money:
        return replace(comma, is_assumed=True) if is_comma else point
    return replace(point, is_assumed=True)


def _parse_number(text, how, is_scaled):
    """Read a number and what stands around it; None if the cell is none, or a code.

    Codes begin with 0, or have more digits than float64 holds, or + as telephone numbers.
    """
    if (match := _STYLES[how].fullmatch(text)) is None:
        return None
    sign, money, sign2, whole, rest, exponent, after = match.group(*match.re.groupindex)
    sign, rest, digits = sign + sign2, rest or "", re.sub(r"\D", "", whole)
    is_code = digits[:1] == "0" != digits or len(digits) > 15 or (sign == "+" and len(digits) > 5)
    if is_code or len(sign) > 1 or not DIGIT.search(whole + rest):
        return None
    number = float(f"{digits or '0'}.{rest[1:] or '0'}{exponent}") * (1 if sign in "+" else -1)
    scale = _SCALE.fullmatch(after)
    if scale and (money or scale[2] or is_scaled):
        number, after = number * _FACTORS[scale[1].lower()], scale[2]
    unit = f"{money} {after}".casefold().strip()
    unit = unit.removesuffix("s") if len(unit) > 2 else unit
    return (number, unit) if math.isfinite(number) else None

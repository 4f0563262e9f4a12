"""What is written in real tables: the kind, numbers and days that come out, and what is said."""

import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from skneighbors._columns import Table
from skneighbors._columns.reader import TableReader, summarize_columns

N = 300
rng = np.random.RandomState(0)
X = rng.permutation(np.arange(101, 101 + N))  # whole numbers of three digits
DAYS = pd.Series(pd.date_range("2003-01-05", "2023-12-20", periods=N)).sample(
    frac=1, random_state=0
)
DAYS = [day.to_pydatetime().replace(hour=0, minute=0, second=0) for day in DAYS.dt.floor("s")]
BIRTHS = [datetime(year, 1 + i % 12, 1 + i % 28) for i, year in enumerate(range(1935, 2005))]
MONTHS = [datetime(year, month, 1) for year in range(1995, 2024) for month in range(1, 13)]
QUARTERS = [month for month in MONTHS if month.month in (1, 4, 7, 10)]
NAN = np.nan

# How a number of three digits is written, and what it is times.
WHOLE = {
    "{}": 1,
    "{}.": 1,
    "+{}": 1,
    "-{}": -1,
    "\u2212{}": -1,
    "\u2013{}": -1,
    "- {}": -1,
    " {} ": 1,
    "{}.5e3": None,
    "{}e-2": 0.01,
    "0.{}": 0.001,
    ".{}": 0.001,
    "{}.00": 1,
    "{},00": 1,
    "1,{}.5": None,
    "{},000.00": 1000,
    "{}.000,00": 1000,
    "{}'000": 1000,
    "{}\u2019000": 1000,
    "{}\u2019000.50": None,
    "{} 000": 1000,
    "{}\u00a0000": 1000,
    "{}\u202f000,00": 1000,
    "{}\u2009000": 1000,
    "{},000,000": 10**6,
    "{}.000.000": 10**6,
    "{} 000 000": 10**6,
    "{}%": 1,
    "{} %": 1,
    "{}\u2030": 1,
    "${}": 1,
    "$ {}": 1,
    "-${}": -1,
    "$-{}": -1,
    "${},000": 1000,
    "${}.99": None,
    "{}$": 1,
    "US${}": 1,
    "US$ {},000": 1000,
    "A${}": 1,
    "R$ {},50": None,
    "R$ {}.000,00": 1000,
    "R$ {},000.00": 1000,
    "£{}": 1,
    "£{}k": 1000,
    "£{}m": 10**6,
    "€{}": 1,
    "€ {}": 1,
    "€{}K": 1000,
    "€{}M": 10**6,
    "{} €": 1,
    "{},00 €": 1,
    "{}.000 €": 1000,
    "{} EUR": 1,
    "EUR {}": 1,
    "USD {},000": 1000,
    "CHF {}'000.00": 1000,
    "CHF {}\u2019000.\u2013": None,
    "{} kr": 1,
    "kr {}": 1,
    "kr. {}": 1,
    "{} zł": 1,
    "{},50 zł": None,
    "{} Kč": 1,
    "{},000 ₽": 1000,
    "{} ₽": 1,
    "{} \u0440\u0443\u0431.": 1,
    "{} 000 ₽": 1000,
    "₩{},000": 1000,
    "₺{}": 1,
    "{} ₺": 1,
    "₪{}": 1,
    "฿{}": 1,
    "₫{},000": 1000,
    "Rs. {}": 1,
    "Rs {},000": 1000,
    "Rs.{}": 1,
    "₹{}": 1,
    "₹{} Cr": 10**7,
    "¥{},000": 1000,
    "{} yen": 1,
    "{} euros": 1,
    "{} dollars": 1,
    "${} million": 10**6,
    "${} billion": 10**9,
    "${}bn": 10**9,
    "${}Mn": 10**6,
    "{} million €": 10**6,
    "$1{}.5M": None,
    "{}kg": 1,
    "{} kg": 1,
    "{} KG": 1,
    "{} km/h": 1,
    "{} m²": 1,
    "{} m2": 1,
    "{} sq ft": 1,
    "{} sq. ft.": 1,
    "{}cc": 1,
    "{} CC": 1,
    "{} bhp": 1,
    "{}.4 kmpl": None,
    "{} mg/dL": 1,
    "{}°": 1,
    "{}°C": 1,
    "{} °F": 1,
    "{} µm": 1,
    "{} min": 1,
    "{} mins": 1,
    "{}px": 1,
    "{} stars": 1,
    "{}A": 1,
    "{}L": 1,
    "{}x": 1,
    "{}K": 1,
    "{}+": 1,
    "{} km (est.)": 1,
}
FRACTIONS = {
    "{}.5e3": lambda x: x * 1000 + 500,
    "1,{}.5": lambda x: 1000.5 + x,
    "{}\u2019000.50": lambda x: 1000 * x + 0.5,
    "${}.99": lambda x: x + 0.99,
    "R$ {},50": lambda x: x + 0.5,
    "CHF {}\u2019000.\u2013": lambda x: x * 1000,
    "{},50 zł": lambda x: x + 0.5,
    "$1{}.5M": lambda x: (1000.5 + x) * 10**6,
    "{}.4 kmpl": lambda x: x + 0.4,
}
# Of these two readings are possible: a separator of thousands, or a decimal sign.
TWO_WAYS = ["{},000 ₽", "${},000", "US$ {},000", "{}.000 €", "USD {},000", "₩{},000", "Rs {},000"]
TWO_WAYS += ["₫{},000", "¥{},000"]


def look(cells):
    """Kind of a column of text, its numbers, and all that a fit says of it."""
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    table = Table.of(frame)
    reader = TableReader.of(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matrix = reader.read(table)
        again = reader.read(Table.of(frame[:1]))  # alone as among the others
    np.testing.assert_array_equal(again, matrix[:1])
    _, doubts = summarize_columns(table, reader, matrix, np.ones(len(frame), dtype=bool))
    said = [str(w.message) for w in caught] + [doubts] * (doubts is not None)
    return reader.kinds[0], matrix[:, 0], " ".join(said)


def days(moments):
    return [(moment - datetime(1970, 1, 1)).days if moment else NAN for moment in moments]


@pytest.mark.parametrize("form", WHOLE)
def test_numbers(form):
    kind, numbers, said = look([form.format(x) for x in X])
    of = FRACTIONS.get(form, lambda x: x * WHOLE[form])
    assert kind.name == "numbers"
    np.testing.assert_allclose(numbers, list(map(of, X)), rtol=1e-12)
    assert bool(said) == (form in TWO_WAYS)


U = [f"{x / 10}" for x in X]  # 10.1 and so on
VERSIONS = [f"{i % 3 + 1}.{i % 14}" for i in range(N)]
# Cells, numbers that come out (None for categories), and whether something is said.
NUMBERS = {
    "a zero too many": (["00", *U[1:]], [NAN, *X[1:] / 10], True),
    "an agent": (["007", *U[1:]], [NAN, *X[1:] / 10], True),
    "sixteen nines": (["9999999999999999", *U[1:]], [NAN, *X[1:] / 10], True),
    "a telephone": (["+1234567", *U[1:]], [NAN, *X[1:] / 10], True),
    "a word": (["see note", *U[1:]], [NAN, *X[1:] / 10], True),
    "a gap": (["n/a", *U[1:]], [NAN, *X[1:] / 10], False),
    "one of another unit": (["5 lb", *(f"{x} kg" for x in X[1:])], [NAN, *X[1:]], True),
    "singular": ([f"{x - 100} year{'s' * int(x > 101)}" for x in X], X - 100, False),
    "zip codes with zeros": ([f"{z:05d}" for z in rng.randint(500, 99999, 200)] * 2, None, False),
    "few zip codes with zeros": (["01234", "02345"] * 3 + [f"{x}42" for x in X[6:]], None, None),
    "zip codes that repeat": ([f"98{100 + x % 70}" for x in X], None, True),
    "numbers of five digits": ([f"{x}{x % 90 + 10}" for x in X], X * 100 + X % 90 + 10, True),
    "incomes": ([f"{x % 70 + 20}000" for x in X], (X % 70 + 20) * 1000, True),
    "years": ([f"{1900 + x % 90}" for x in X], 1900 + X % 90, False),
    "hours": ([f"{i % 24:02d}" for i in range(N)], None, False),
    "versions": (VERSIONS, list(map(float, VERSIONS)), True),
    "versions of three": ([f"{i % 3}.{i % 14}.{i % 5}" for i in range(N)], None, False),
    "tenths and hundredths": ([f"{x / 100}" for x in X], X / 100, False),
    "players": ([f"€{x / 100:.2f}M" if x % 3 else f"€{x}0K" for x in X], X * 10**4, False),
    "some worth nothing": ([f"€{x}K" if x % 3 else "€0" for x in X], X * 1000 * (X % 3 > 0), False),
    "views": (
        [f"{x}K" if x % 3 else f"{x / 10}M" for x in X],
        np.where(X % 3, X * 1e3, X * 1e5),
        False,
    ),
    "views below a thousand": (
        ["950", "1.2K", "3.4M", "12K"] * 75,
        [950, 1200, 3.4e6, 12e3] * 75,
        0,
    ),
    "sales": ([f"{x}M" if x % 2 else f"{x}bn" for x in X], X * np.where(X % 2, 1e6, 1e9), False),
    "only thousands, some without": (["950", *(f"{x}K" for x in X[1:150]), *U[150:]], None, True),
    "clothes": ([f"{x % 9} {'MSL'[x % 3]}" for x in X], None, False),
    "lakh": ([f"₹{x // 10},{x % 10}0,000" for x in X], X * 10**4, False),
    "lakh and less": (
        ["₹14,00,000", "₹9,50,000", "₹95,000"] * 100,
        [14e5, 95e4, 95e3] * 100,
        False,
    ),
    "lac and crore": (["₹45 Lac", "₹1.2 Cr"] * 150, [45e5, 1.2e7] * 150, False),
    "points by twos": ([f"{x % 9 + 1}.{x % 4 + 10}.{x % 5 + 100}" for x in X], None, None),
    "two currencies": ([f"{'€$'[x % 2]}{x}" for x in X], None, True),
    "houses": ([f"{x % 30}{'ABC'[x % 3]}" for x in X], None, False),
    "mostly one letter": ([f"{x}{'AB'[int(x % 33 == 0)]}" for x in X], None, True),
    "nearly all yes": (["1. Yes"] * 291 + ["2. No"] * 9, None, False),
    "all but one yes": (["1 Yes"] * 299 + ["2 No"], None, False),
    "all but one no": (["0_no"] * 299 + ["1_yes"], None, False),
    "levels": ([["0_none", "1_mild", "2_severe"][i % 3] for i in range(N)], None, False),
    "levels by colons": ([["1:Sm", "2:Med", "3:Lg"][i % 3 - i % 2] for i in range(N)], None, False),
    "from an age on": (["24-", "25+"] * 150, None, False),
    "one price": (["$1,250.00", "-"] * 150, [1250, NAN] * 150, False),
    "answers": ([f"{i % 4 + 1} - {'abcd'[i % 4]}" for i in range(N)], None, False),
    "ordinals": ([f"{x % 30}{['th', 'st', 'nd'][x % 3]}" for x in X], None, False),
    "clarity": ([f"VS{i % 2 + 1}" for i in range(N)], None, False),
    "gears": ([f"auto(l{i % 3 + 4})" for i in range(N)], None, False),
    "few named": ([f"grade {i % 8}" for i in range(N)], None, False),
    "many named": ([f"no {x % 40}" for x in X], None, True),
    "limits": ([f"<{x % 60}" if x % 3 else f">{x % 60}" for x in X], None, True),
    "about": ([f"~{x % 60}" for x in X], None, True),
    "hashes": ([f"#{x % 60}" for x in X], None, True),
    "from currencies": ([f"from ${x % 60}" for x in X], None, True),
    "ranges": ([f"{i % 5}-{i % 5 + 1}" for i in range(N)], None, False),
    "fractions": ([f"{i % 5}/{i % 7 + 13}" for i in range(N)], None, False),
    "feet and inches": ([f"{i % 3 + 4}'{i % 12}\"" for i in range(N)], None, False),
    "two numbers": ([f"{i % 9}x{i % 7}" for i in range(N)], None, False),
    "addresses of the net": ([f"10.0.{i % 9}.{i % 7}" for i in range(N)], None, False),
    "telephones": ([f"+4930{x % 60:06d}" for x in X], None, None),
    "long codes": ([f"{10**17 + x % 60}" for x in X], None, False),
    "articles": ([f"AB-{x % 60}" for x in X], None, True),
    "a unit in few": (
        [*(f"{x}" for x in X[:-6]), *(f"{x} kg" for x in X[-6:])],
        [*X[:-6]] + [NAN] * 6,
        1,
    ),
    "half kg, half lb": ([f"{x} {'kg' if x % 2 else 'lb'}" for x in X], None, True),
    "marks": (["A", "B+", "C-"] * 100, None, False),
    "bools": (["True", "False"] * 150, None, False),
    "percent of some": ([f"{x}%" if x % 2 else f"{x}" for x in X], None, True),
    "hex": ([f"{x:x}" for x in X], None, None),
    "codes of three letters": ([f"SKU {x % 60}" for x in X], None, True),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_or_categories(name):
    cells, expected, is_said = NUMBERS[name]
    kind, numbers, said = look(cells)
    assert kind.name == ("categories" if expected is None else "numbers"), said
    if expected is not None:
        np.testing.assert_allclose(numbers, expected, rtol=1e-12)
    assert is_said is None or bool(said) == bool(is_said), said


def written(moments, form, **how):
    if "{" in form:
        cells = [form.format(d=m, q=(m.month + 2) // 3, w=m.isocalendar()) for m in moments]
    else:
        cells = [m.strftime(form) for m in moments]
    return cells


MONDAYS = [datetime.fromisocalendar(y, w, 1) for y in range(2015, 2021) for w in range(1, 53)]
IN_2024 = [datetime(2024, 1 + i % 12, 1 + i % 28) for i in range(N)]
EARLY = [datetime(2001 + i % 12, 1 + i % 12, 1 + i % 11) for i in range(N)]
# Moments, their form, and whether something is said.
DATES = {
    "ISO": (DAYS, "%Y-%m-%d", False),
    "ISO by slashes": (DAYS, "%Y/%m/%d", False),
    "ISO by points": (DAYS, "%Y.%m.%d", False),
    "ISO at midnight": (DAYS, "%Y-%m-%d 00:00:00", False),
    "ISO in a zone": (DAYS, "%Y-%m-%dT00:00:00Z", False),
    "ISO, short": (DAYS, "{d.year}-{d.month}-{d.day}", False),
    "German": (DAYS, "%d.%m.%Y", False),
    "German, short": (DAYS, "{d.day}.{d.month}.{d.year}", False),
    "American": (DAYS, "%m/%d/%Y", False),
    "American, short": (DAYS, "{d.month}/{d.day}/{d.year}", False),
    "American with clock": (DAYS, "%m/%d/%Y 12:00 AM", False),
    "British": (DAYS, "%d/%m/%Y", False),
    "Dutch": (DAYS, "%d-%m-%Y", False),
    "American births": (BIRTHS, "%m/%d/%y", False),
    "British births": (BIRTHS, "%d/%m/%y", False),
    "births by name": (BIRTHS, "%d-%b-%y", False),
    "births by long name": (BIRTHS, "%d %B %y", False),
    "American, two digits": (DAYS, "%m/%d/%y", False),
    "British, two digits": (DAYS, "%d/%m/%y", False),
    "Swedish, two digits": ([d for d in DAYS if d.year > 2003], "%y-%m-%d", True),
    "Swedish births": (BIRTHS, "%y-%m-%d", False),
    "one year": (IN_2024, "%d/%m/%Y", False),
    "one year, two digits": (IN_2024, "%d/%m/%y", False),
    "either order": (EARLY, "%m/%d/%Y", True),
    "either order by dots": (EARLY, "%d.%m.%Y", False),
    "either order, two digits": (EARLY, "%m/%d/%y", True),
    "first of the month": (MONTHS, "%d/%m/%Y", False),
    "first of the month, American": (MONTHS, "%m/%d/%Y", False),
    "first of the month, short": (MONTHS, "{d.day}/{d.month}/{d.year}", False),
    "name first": (DAYS, "%B %d, %Y", False),
    "short name first": (DAYS, "%b %d %Y", False),
    "name between": (DAYS, "%d %B %Y", False),
    "name between dashes": (DAYS, "%d-%b-%Y", False),
    "weekday": (DAYS, "%a, %d %b %Y", False),
    "weekday and name first": (DAYS, "%A, %B %d, %Y", False),
    "ordinal": (DAYS, "{d.day}th {d:%B} {d.year}", False),
    "months": (MONTHS, "%Y-%m", False),
    "months by slash": (MONTHS, "%Y/%m", False),
    "months, year last": (MONTHS, "%m/%Y", False),
    "months, year last, dash": (MONTHS, "%m-%Y", False),
    "months, year last, short": (MONTHS, "{d.month}/{d.year}", False),
    "months of Excel": (MONTHS, "%b-%y", False),
    "months of Excel, capitals": (MONTHS, "{d:%b}-{d:%y}", False),
    "months by name": (MONTHS, "%B %Y", False),
    "months by short name": (MONTHS, "%b %Y", False),
    "months by name and dash": (MONTHS, "%b-%Y", False),
    "months by name, apostrophe": (MONTHS, "%b '%y", False),
    "months by name, no blank": (MONTHS, "%b%Y", False),
    "year before name": (MONTHS, "%Y %b", False),
    "year before name, dash": (MONTHS, "%Y-%b", False),
    "quarters": (QUARTERS, "{d.year}Q{q}", False),
    "quarters by blank": (QUARTERS, "{d.year} Q{q}", False),
    "quarters by dash": (QUARTERS, "{d.year}-Q{q}", False),
    "quarters first": (QUARTERS, "Q{q} {d.year}", False),
    "quarters first, dash": (QUARTERS, "Q{q}-{d.year}", False),
    "quarters first, slash": (QUARTERS, "Q{q}/{d.year}", False),
    "quarters, two digits": (QUARTERS, "{q}Q{d:%y}", False),
    "weeks": (MONDAYS, "{w.year}-W{w.week:02d}", False),
    "weeks without dash": (MONDAYS, "{w.year}W{w.week:02d}", False),
    "weeks with day": (MONDAYS, "{w.year}-W{w.week:02d}-1", False),
}


@pytest.mark.parametrize("name", DATES)
def test_dates(name):
    moments, form, is_said = DATES[name]
    kind, found, said = look(written(moments, form))
    assert kind.name == "dates", said
    if not is_said or name.startswith("either"):
        np.testing.assert_allclose(found, days(moments))
    assert bool(said) == is_said, said


# Cells, days that come out (None: categories), and whether something is said.
OTHER_DATES = {
    "seasons": ([f"{1990 + i % 30}-{(91 + i % 30) % 100:02d}" for i in range(N)], None, False),
    "day and month": ([f"{m.day}-{m:%b}" for m in DAYS], None, False),
    "a century": ([f"{1 + i % 12}/{13 + i % 9}/{i % 100:02d}" for i in range(N)], ..., True),
    "days of a month by name": ([f"Jan-{i % 31 + 1:02d}" for i in range(N)], ..., True),
    "a typing error": (
        ["33.13.2020", *(f"{m:%d.%m.%Y}" for m in DAYS[1:])],
        [NAN, *days(DAYS[1:])],
        True,
    ),
    "one of the other order": (
        ["12/31/2020", *(f"{m:%d/%m/%Y}" for m in DAYS[1:])],
        [NAN, *days(DAYS[1:])],
        True,
    ),
    "two orders": (["13/01/2020", "01/13/2020"] * (N // 2), None, True),
    "ISO and American": (["2020-01-13", "01/13/2020"] * (N // 2), None, True),
    "scales": ([f"1/{1000 * (i % 5 + 1) + 7000}" for i in range(N)], None, False),
    "names": ([f"May {i % 40 + 31}" for i in range(N)], None, True),
    "ships": (["Marathon 2020", "Mayflower 2019", "Decathlon 2021"] * 100, None, False),
    "scores": ([f"{i % 5}:{i % 7}" for i in range(N)], None, None),
    "quarters alone": ([f"Q{i % 4 + 1}" for i in range(N)], None, False),
    "weeks alone": ([f"W{i % 52 + 1}" for i in range(N)], None, None),
    "a fifth quarter": ([f"2020Q{i % 9 + 1}" for i in range(N)], None, None),
    "month names": (["Jan", "Feb", "Mar"] * 100, None, False),
    "moments": (
        [f"{m:%Y-%m-%d} 18:00" for m in DAYS],
        [day + 0.75 for day in days(DAYS)],
        False,
    ),
}


@pytest.mark.parametrize("name", OTHER_DATES)
def test_dates_or_categories(name):
    cells, expected, is_said = OTHER_DATES[name]
    kind, found, said = look(cells)
    assert kind.name == ("categories" if expected is None else "dates"), said
    if expected not in (None, ...):
        np.testing.assert_allclose(found, expected)
    assert is_said is None or bool(said) == is_said, said


def test_years_of_two_digits_are_read_in_predict_as_in_fit():
    kind, _, _ = look(written(BIRTHS, "%m/%d/%y"))
    assert kind.show("09/06/62") == "1962-09-06"
    assert kind.show("09/06/35") == "1935-09-06"
    later, _, _ = look(written(MONTHS, "%d.%m.%y"))
    assert later.show("01.02.62") == "1962-02-01"
    assert later.show("01.02.30") == "2030-02-01"

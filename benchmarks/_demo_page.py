"""The demo's page: what was measured, and what a fitted model knows of the table."""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
from _demo_compare import N_SPLITS, is_classes, verdict
from _demo_tested import (
    TestedClasses,
    TestedNumbers,
    html_table,
    number,
    paragraph,
    percent,
)
from sklearn.inspection import permutation_importance

N_SHOWN, N_COLUMNS, N_NAMED = 5, 10, 3
# Of permutations: rows, repeats, and predictions of all of these rows.
MAX_PERMUTED, MAX_REPEATS, MAX_CALLS = 200, 5, 100
NOVEL = 0.95
# Pictures and tables scroll in their own box.
BOX = r'<div class="box" role="group" tabindex="0">\g<0></div>'
STYLE = Path(__file__).with_name("demo.css")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><header><h1>{title}</h1>{intro}<nav><ul>{links}</ul></nav></header>
<main><article>{main}</article></main>
<footer><p>Made by <code>make demo</code> of skneighbors.</p></footer></body></html>
"""


def compared(said, errors, ours, tested):
    """Sentences on the errors of all methods, these, and what ours takes for what."""
    formats = {name: "{:.1f}".format if "seconds" in name else number for name in errors}
    table = html_table(errors.transform(formats))
    how = f"Means over {N_SPLITS} random splits, all methods at their defaults; the others get "
    how += "numbers and dates in text as numbers, and other text as categories."
    marked = table.replace(f"<th>{ours}</th>", f'<th class="ours">{ours}</th>')
    return "".join(map(paragraph, said)) + marked + paragraph(how) + tested.confusion()


def choose(unsureness, errors):
    """Find a row of middling sureness, the least sure and that of the largest error; all others."""
    order = np.argsort(unsureness, kind="stable")
    orders = {
        "A row with a large error": np.argsort(-errors, kind="stable"),
        "An unsure row": order[::-1],
        "A typical row": np.roll(order, -(len(order) // 2)),
    }
    chosen = {}
    for name, rows in orders.items():
        left = [row for row in rows if row not in chosen.values()]
        chosen |= {name: left[0]} if left else {}
    return dict(reversed(chosen.items()))


def explained(model, X, tested):
    """Explain three predictions."""
    text = f"Three test rows, chosen by {tested.sureness} and by error. Rows are named by their "
    blocks = [paragraph(f"{text}number in the table, 0 the first.")]
    for name, row in choose(tested.unsureness, tested.errors).items():
        why = model.explain(X.iloc[[row]], by_column=True)
        tables, end, notes = why._repr_html_().rpartition("</table>")
        said = f"<h3>{name}</h3>{paragraph(tested.describe(row))}"
        drawn = tested.draw_neighbors(X.iloc[[row]])
        notes = f"<details><summary>How to read this</summary>{notes}</details>"
        blocks.append(f"<section>{said}{tables}{end}{drawn}{notes}</section>")
    return "".join(blocks)


def important(model, X, y, tested):
    """Columns by how much worse predictions become when one is shuffled; a table, the first."""
    n_repeats = min(MAX_CALLS // X.shape[1], MAX_REPEATS)
    if not n_repeats:
        return paragraph(f"Not measured: that of over {MAX_CALLS} columns takes minutes."), None
    X, y, options = X[:MAX_PERMUTED], y[:MAX_PERMUTED], {"random_state": 0, "n_repeats": n_repeats}
    found = permutation_importance(model, X, y, scoring=tested.scorer, **options)
    rises = pd.Series(found.importances_mean, X.columns).sort_values(ascending=False)
    shown = rises[:N_COLUMNS].map(lambda rise: f"{'+' * (rise > 0)}{number(rise, 3)}")
    repeats = "once" if n_repeats == 1 else f"{n_repeats} times"
    text = f"By how much the {tested.loss} of {len(X)} test rows rises when a column is shuffled, "
    text += f"{repeats}. Columns that say the same hide each other."
    more = f" {len(rises) - N_COLUMNS} more columns have less." * (len(rises) > N_COLUMNS)
    table = html_table(shown.to_frame(f"rise of the {tested.loss}"))
    matters = ", ".join(map(str, rises.index[rises > 0][:N_NAMED])) or "no column"
    return paragraph(text + more) + table, f"Matters most: {matters}."


def novel(model, X, y, tested):
    """Test rows that are least like the training rows."""
    novelty = model.novelty(X)
    rows = np.argsort(-novelty, kind="stable")[:N_SHOWN]
    columns = {"row": X.index[rows].astype(str), "novelty": [f"{x:.3f}" for x in novelty[rows]]}
    columns |= {"target": map(tested.write, y.iloc[rows])}
    columns |= {"predicted": map(tested.write, tested.y_hat[rows])}
    text = f"{percent(np.mean(novelty > NOVEL))} of the test rows have a novelty above {NOVEL}; of "
    text += f"rows like the training rows about {percent(1 - NOVEL)} have. The most novel, whose "
    text += "predictions are less certain:"
    return paragraph(text) + html_table(pd.DataFrame(columns), index=False)


def assemble(title, notes, sections):
    """Write sections, by heading, as one page."""
    links, blocks = [], []
    for k, (heading, block) in enumerate(sections.items()):
        links.append(f'<li><a href="#part-{k}">{heading}</a></li>')
        blocks.append(f'<section id="part-{k}"><h2>{heading}</h2>{block}</section>')
    main = re.sub(r"(?s)<table.*?</table>|<img.*?>", BOX, "".join(blocks))
    intro = paragraph(" ".join(notes))
    words = {"title": html.escape(title), "style": STYLE.read_text(encoding="utf-8")}
    return PAGE.format(**words, intro=intro, links="".join(links), main=main)


def make_page(title, notes, errors, model, X_test, y_test):
    """Write all as one page of HTML, and the lines that the terminal shows."""
    ours = type(model).__name__
    tested = (TestedClasses if is_classes(y_test) else TestedNumbers)(model, X_test, y_test)
    said = [verdict(errors, ours), *tested.warnings()]
    covered, coverage = tested.coverage()
    importances, matters = important(model, X_test, y_test, tested)
    sections = {
        "How large are the errors?": compared(said, errors, ours, tested),
        "Which rows made these predictions?": explained(model, X_test, tested),
        "How sure is it?": paragraph(covered) + coverage,
        "Which columns matter?": importances,
        "Which targets look wrong?": paragraph(
            f"Among {model.n_samples_fit_} rows, the training rows of the first split:"
        )
        + model.suspects(N_SHOWN)._repr_html_(),
        "Which rows are unlike the others?": novel(model, X_test, y_test, tested),
        "How were the columns read?": model.columns_._repr_html_(),
    }
    first = next(iter(choose(tested.unsureness, tested.errors).values()))
    why = model.explain(X_test.iloc[[first]])
    lines = [title, *notes, "", errors.map(number).to_string(), *said, ""]
    lines += [str(why), "", covered, *([matters] if matters else [])]
    return assemble(title, notes, sections), lines

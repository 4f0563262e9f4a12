"""Write the fixture of the file format: run this in the root of a checkout."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from test_files import fit, make_table  # noqa: E402

from skneighbors import NONARegressor  # noqa: E402

if __name__ == "__main__":
    model, X = fit(NONARegressor, "table"), make_table()[0]
    model.save(HERE / "model.skops")
    expected = {
        "predict": model.predict(X.iloc[:10]).tolist(),
        "labels": model.explain(X.iloc[:1]).labels[0].tolist(),
    }
    (HERE / "model.json").write_text(json.dumps(expected, indent=1) + "\n")

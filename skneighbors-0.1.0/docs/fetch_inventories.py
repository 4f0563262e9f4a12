"""Fetch the inventories that ``conf.py`` names, whole, from the documentation they belong to."""

import runpy
from pathlib import Path
from urllib.request import urlretrieve

conf = runpy.run_path(str(Path(__file__).with_name("conf.py")))
for url, path in conf["intersphinx_mapping"].values():
    urlretrieve(url + "objects.inv", path)
    print(url, path)

"""Run tests of the sdist against the installed wheel, outside of the source tree.

Usage, with the Python that the wheel is installed for: wheel_check.py VENV [options of pytest]

Files of the wheel must be those of the source tree, and it must fit and predict with nothing but
what it asks for. Then other packages that tests need are those of the environment VENV: its folder
comes last on the path, and no editable install in it counts.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIT = """
import json, skneighbors
from sklearn.datasets import load_diabetes
X, y = load_diabetes(return_X_y=True)
for kind in (skneighbors.NONARegressor, skneighbors.SoftStepKNNRegressor):
    kind(max_iter=2).fit(X, y).predict(X)
print(json.dumps(skneighbors.__file__))
"""
WHERE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def files(package):
    """Contents of a package's files, by their names."""
    found = {path.relative_to(package): path for path in package.rglob("*") if path.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if "__pycache__" not in n.parts}


def run(*command, **options):
    """Output of a program."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def check_files():
    """Compare the installed package, after it was used, with the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        installed = Path(json.loads(run(sys.executable, "-c", FIT, cwd=folder))).parent
    if installed != Path(sysconfig.get_path("purelib"), "skneighbors"):
        raise SystemExit(f"imported from {installed}, which is not the wheel's place")
    wheel, source = files(installed), files(ROOT / "skneighbors")
    others = [str(n) for n in wheel.keys() | source.keys() if wheel.get(n) != source.get(n)]
    if others:
        raise SystemExit(f"the wheel differs from the source tree: {sorted(others)}")


def add_packages(venv):
    """Let packages of another environment be imported after those that are installed here.

    A path in a .pth file is no site folder: the .pth files in it, editable installs, don't count.
    """
    python = Path(venv, "Scripts" if os.name == "nt" else "bin", "python")
    place = run(python, "-c", WHERE).strip()
    Path(sysconfig.get_path("purelib"), "others.pth").write_text(place, encoding="utf-8")


def test(options):
    """Run tests in a folder with the sdist's files but the package's."""
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            names = [name for name in archive.getnames() if name.split("/")[1:2] != ["skneighbors"]]
            members = [archive.getmember(name) for name in names]
            archive.extractall(folder, members, filter="data")
        (source,) = Path(folder).iterdir()
        where = run(sys.executable, "-c", "import skneighbors; print(skneighbors)", cwd=source)
        print(where.strip(), "in", source, flush=True)
        pytest = ["-m", "pytest", "--numprocesses", "2", "--dist", "worksteal", *options]
        return subprocess.run([sys.executable, *pytest], cwd=source).returncode


def main():
    venv, *options = sys.argv[1:]
    check_files()
    add_packages(Path(venv).resolve())
    sys.exit(test(options))


if __name__ == "__main__":
    main()

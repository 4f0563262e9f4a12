"""Rooms and public names: who may import whom, and what is there for users."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skneighbors
from skneighbors import nn

PACKAGE = Path(skneighbors.__file__).parent
# Each room may import those below it.
ORDER = [
    {"__init__"},
    {"_nona", "_softstep_knn"},
    {"_base"},
    {"_attempts"},
    {"_training"},
    {"_updates", "_validation"},
    {
        "_context",
        "_bank",
        "_network",
        "_preprocessing",
        "_progress",
        "_queries",
        "_rows",
        "_schedule",
        "_weights",
    },
    {"_candidates"},
    {"_attention", "_sample"},
    {"_screen", "_torch_utils"},
    {"nn"},
]
FLOOR = {room: floor for floor, rooms in enumerate(ORDER) for room in rooms}


def imports(path):
    """Names of rooms and of packages that a module imports, wherever it does."""
    rooms, packages = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            packages.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            rooms.add(node.module.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            rooms |= {alias.name for alias in node.names}
    return rooms, packages


def test_every_room_has_a_place():
    rooms = {path.stem for path in PACKAGE.glob("*.py")} | {"nn"}
    assert rooms == set(FLOOR)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_imports_point_one_way(path):
    rooms, packages = imports(path)
    assert all(FLOOR[room] > FLOOR[path.stem] for room in rooms)
    assert "skneighbors" not in packages  # a way around the rooms


@pytest.mark.parametrize("path", sorted((PACKAGE / "nn").glob("*.py")), ids=lambda path: path.stem)
def test_nn_is_plain_torch(path):
    rooms, packages = imports(path)
    inside = {path.stem for path in (PACKAGE / "nn").glob("*.py")}
    assert rooms <= inside
    assert packages <= {"copy", "math", "numpy", "scipy", "torch", "typing"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_small_rooms(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_import_is_light():
    code = (
        "import sys, torch, sklearn.base, sklearn.utils.parallel; "
        "before = set(sys.modules); import skneighbors; "
        "heavy = {'matplotlib', 'tqdm', 'pandas', 'polars'} & (set(sys.modules) - before); "
        "assert not heavy, heavy; assert not torch.cuda.is_initialized()"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, cwd=PACKAGE.parent)


def test_public_names():
    assert set(skneighbors.__all__) == {
        "NONARegressor",
        "SoftStepKNNRegressor",
        "__version__",
        "nn",
    }
    public = {name for name in vars(nn) if not name.startswith("_")}
    assert set(nn.__all__) == public


DOCUMENTED = [
    skneighbors.NONARegressor,
    skneighbors.SoftStepKNNRegressor,
    *(getattr(nn, name) for name in nn.__all__),
]


@pytest.mark.parametrize("thing", DOCUMENTED, ids=lambda thing: thing.__name__)
def test_documented_with_parameters_and_an_example(thing):
    assert "Parameters\n" in thing.__doc__
    assert "Examples\n" in thing.__doc__


@pytest.mark.parametrize("estimator", DOCUMENTED[:2], ids=lambda thing: thing.__name__)
def test_every_parameter_is_documented_in_order_with_its_default(estimator):
    lines = [line.strip() for line in estimator.__doc__.split("Attributes\n")[0].splitlines()]
    documented = [line for line in lines if ", default=" in line and " : " in line]
    params = estimator().get_params()
    order = list(estimator.__init__.__kwdefaults__)
    assert [line.split(" : ")[0] for line in documented] == order
    for line in documented:
        name, default = line.split(" : ")[0], line.rsplit("default=", 1)[1]
        assert ast.literal_eval(default) == params[name]

"""The papers' findings: each script at its smallest, and what its output says."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
if not (BENCHMARKS / "paper").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


@pytest.fixture(autouse=True)
def _without_data_folder(monkeypatch):
    monkeypatch.setenv("SKNEIGHBORS_DATA", "nowhere")


def test_tasks_hold_what_they_say():
    from paper._tasks import image_extractor, pitch, rotated_digits, tasks
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    assert list(tasks()) == ["rotated digits", "pitch", "diabetes"]
    images, angles = rotated_digits()
    expected = rotate(load_digits().images[7] / 16, angles[7], reshape=False, order=1)
    np.testing.assert_allclose(images[7], expected)
    assert -45 <= angles.min() < -44 < 44 < angles.max() <= 45
    signals, frequency = pitch()
    # Half a period of leakage aside, the loudest frequency of the spectrum is the target.
    loudest = 1 + np.abs(np.fft.rfft(signals, axis=1))[:, 1:].argmax(axis=1)
    assert np.mean(np.abs(loudest - frequency) < 1) > 0.95
    torch = pytest.importorskip("torch")
    assert image_extractor()(torch.zeros(3, 8, 8)).shape == (3, 128)


@pytest.mark.parametrize("task", ["diabetes", "rotated digits"])
def test_fine_tuning_runs_once_and_beats_the_mean(tmp_path, monkeypatch, capsys, task):
    from paper import _runs, finetuning

    monkeypatch.setitem(finetuning.QUICK, "max_iter", 12)
    results = tmp_path / "results.jsonl"
    command = ["finetuning", "--quick", "--tasks", task, "--splits", "1"]
    command += ["--results", str(results), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(_runs, "Parallel", lambda **_: lambda jobs: (f(*a) for f, a, _ in jobs))
    finetuning.main()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted(line["head"] for line in lines) == sorted(finetuning.HEADS)
    spread = finetuning.tasks()[task][0]()[1][:300].std()
    assert min(line["rmse"] for line in lines) < 0.95 * spread
    finetuning.main()
    assert len(results.read_text().splitlines()) == len(lines)
    table = (tmp_path / "finetuning.inc").read_text()
    assert all(head in table for head in finetuning.HEADS)
    assert f"{lines[0]['rmse']:.3g}, " in table


def test_summary_of_fine_tuning():
    from paper.finetuning import HEADS, mean_ranks, summarise
    from scipy.stats import friedmanchisquare, wilcoxon

    rng = np.random.default_rng(0)
    level = {"dense": 3.0, "k-NN on dense": 4.0, "NONA": 2.0, "NONA + SoftStep": 2.1}
    rmse = {head: level.get(head, 5.0) + 0.01 * rng.normal(size=8) for head in HEADS}
    frame = pd.DataFrame(
        [
            {"task": "a", "split": split, "head": head, "rmse": rmse[head][split]}
            for head in HEADS
            for split in range(8)
        ]
    )
    row = summarise(frame).loc["a"]
    assert row["NONA"] == f"{np.mean(rmse['NONA']):.3g} ± {np.std(rmse['NONA'], ddof=1):.2g}"
    assert row["Friedman p"] == f"{friedmanchisquare(*rmse.values()).pvalue:.2g}"
    p_value = wilcoxon(rmse["dense"], rmse["NONA"], alternative="greater").pvalue
    assert row["NONA < dense, p"] == f"{p_value:.2g}"
    assert p_value < 0.01
    assert float(row["NONA + SoftStep < NONA, p"]) > 0.9
    _, ranks = mean_ranks(frame)
    assert list(ranks.index[:3]) == ["NONA", "NONA + SoftStep", "dense"]
    assert ranks["NONA"] == 1


def test_all_scripts_are_run_and_know_their_options(tmp_path, monkeypatch, capsys):
    from paper.__main__ import SCRIPTS, command

    assert set(SCRIPTS) == {path.stem for path in (BENCHMARKS / "paper").glob("[!_]*.py")}
    for script in SCRIPTS:
        _, _, module, *options = command(script, tmp_path)
        monkeypatch.setattr(sys, "argv", [script, "--help"])
        with pytest.raises(SystemExit) as stopped:
            importlib.import_module(module).main()
        assert not stopped.value.code
        text = capsys.readouterr().out
        assert all(option in text for option in options if option.startswith("--"))
        assert ("--results" in options) == ("--results" in text)

"""The papers' findings: each script at its smallest, and what its output says."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "paper").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("paper_alone")


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

    monkeypatch.setitem(_runs.QUICK, "max_iter", 12)
    results = tmp_path / "results.jsonl"
    command = ["finetuning", "--quick", "--tasks", task, "--splits", "1"]
    command += ["--results", str(results), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
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
    from paper.finetuning import HEADS, mean_ranks, summarize
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
    row = summarize(frame).loc["a"]
    assert row["NONA"] == f"{np.mean(rmse['NONA']):.3g} ± {np.std(rmse['NONA'], ddof=1):.2g}"
    assert row["Friedman p"] == f"{friedmanchisquare(*rmse.values()).pvalue:.2g}"
    p_value = wilcoxon(rmse["dense"], rmse["NONA"]).pvalue
    assert row["NONA or dense, p"] == f"{p_value:.2g}"
    assert p_value < 0.01
    assert float(row["NONA + SoftStep or NONA, p"]) < 0.01  # the other way
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


def test_missing_packages_are_named_before_any_work(tmp_path, monkeypatch, capsys):
    from paper import __main__ as paper_main

    results = tmp_path / "paper_growth.json"
    results.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(paper_main, "RESULTS", tmp_path)
    monkeypatch.setattr(paper_main, "PACKAGES", ("json", "no_such_package"))
    monkeypatch.setattr(sys, "argv", ["paper", "--again"])

    def run(*args, **kwargs):
        raise AssertionError("work was begun")

    monkeypatch.setattr(paper_main.subprocess, "run", run)
    with pytest.raises(SystemExit) as stopped:
        paper_main.main()
    assert stopped.value.code
    error = capsys.readouterr().err
    assert "needs no_such_package;" in error
    assert "json" not in error
    assert results.exists()


@pytest.mark.parametrize("options", [[], ["--output", "here"], ["--results", "here.json"]])
@pytest.mark.parametrize("script", ["finetuning", "ablations", "weightings", "growth"])
def test_quick_runs_need_files_of_their_own(script, options, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--quick", *options])
    with pytest.raises(SystemExit):
        importlib.import_module(f"paper.{script}").main()
    assert "--quick needs another --" in capsys.readouterr().err


@pytest.mark.parametrize("script", ["pictures", "triplets"])
def test_quick_pictures_need_a_folder_of_their_own(script, monkeypatch, capsys):
    module = importlib.import_module(f"paper.{script}")
    default = importlib.import_module("paper._runs").OUTPUT
    monkeypatch.setattr(
        sys, "argv", [script, "--quick", "--output", str(default / ".." / "papers")]
    )
    with pytest.raises(SystemExit):
        module.main()
    assert "--quick needs another --output" in capsys.readouterr().err


def test_a_line_that_was_cut_off_is_named(tmp_path):
    from paper._runs import load_results

    path = tmp_path / "results.jsonl"
    path.write_text('{"task": "a", "rmse": 1.0}\n{"task": "b", "rm')
    with pytest.raises(SystemExit, match=r"line 2 of .*results\.jsonl is no result of this"):
        load_results(path, ("task",))


@pytest.mark.parametrize("text", ["0", "-3"])
def test_counts_are_positive(text, monkeypatch, capsys):
    from paper import growth

    monkeypatch.setattr(sys, "argv", ["growth", "--banks", "30", text])
    with pytest.raises(SystemExit):
        growth.main()
    assert "at least 1; got" in capsys.readouterr().err

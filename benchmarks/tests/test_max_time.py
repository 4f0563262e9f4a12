"""What makes the benchmark of fits in limited time fail."""

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


def test_it_fails_for_late_fits_and_higher_errors():
    import max_time

    recorded = max_time.load_results(max_time.RECORDED)[0]
    recorded["fit_s"] = recorded["limit"]
    max_time.check(recorded)
    max_time.check(recorded[recorded["split"] == 1])
    later = recorded.assign(fit_s=recorded["limit"] * 1.1 + 0.9)
    max_time.check(later)
    of_set = (recorded["dataset"] == "wine") & (recorded["ratio"] == 0.6)
    later.loc[of_set, "fit_s"] += 0.2
    with pytest.raises(SystemExit, match=r"^wine, limit of 0.6: .* s instead of .* s$") as failure:
        max_time.check(later[later["split"] == 0])
    assert failure.value.code  # a message: the exit status is 1
    worse = recorded.assign(rmse=recorded["rmse"] * (1 + 0.03 * of_set))
    with pytest.raises(SystemExit, match=r"^wine, limit of 0.6: 1.030 of the recorded error$"):
        max_time.check(worse)
    worse["rmse"] *= 1.03  # as much without a limit
    with pytest.raises(SystemExit, match=r"^wine, limit of 0.6: 1.030 of the recorded error$"):
        max_time.check(worse)

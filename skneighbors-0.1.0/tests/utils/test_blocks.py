"""Blocks of queries: in memory, in the cache where that leaves enough of them."""

from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context

from skneighbors._utils.blocks import CACHED_BYTES, count_queries


@given(st.integers(1, 2**30), st.integers(1, 12), st.integers(8, 512))
def test_blocks_of_queries_fit_memory_and_hold_enough_to_share_a_pass_over_the_rows(
    row_bytes, n_temporaries, mebibytes
):
    with config_context(working_memory=mebibytes):
        on_cpu = count_queries(row_bytes, True, n_temporaries)
        most = count_queries(row_bytes, False, n_temporaries)
    allowed = mebibytes * 2**20 / 8
    assert most == 1 or most * row_bytes * n_temporaries <= allowed
    assert (most + 1) * row_bytes * n_temporaries > allowed
    assert on_cpu == min(most, max(32, CACHED_BYTES // row_bytes))

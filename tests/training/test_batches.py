"""Batches and their context."""

import numpy as np
import pytest
import torch

from skneighbors._training.batches import draw_batches


def draw(n_rows, batch_size, context_size, n_members=1, generator=None):
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    device = torch.device("cpu")
    return list(draw_batches(n_rows, n_members, batch_size, context_size, generator, device))


def batches(*args):
    """Rows and number of queries of one member's batches."""
    return [(rows[0], n_queries) for rows, n_queries in draw(*args)]


@pytest.mark.parametrize("context_size", [None, 1, 7, 50, 1000])
@pytest.mark.parametrize(("n_rows", "batch_size"), [(2, 2), (5, 2), (33, 8), (64, 8), (10, 256)])
def test_every_row_is_a_query_once_an_epoch(n_rows, batch_size, context_size):
    queried = []
    for rows, n_queries in batches(n_rows, batch_size, context_size):
        assert len(set(rows.tolist())) == len(rows)
        assert len(rows) >= 2
        assert n_queries <= batch_size + 1
        queried += rows[:n_queries].tolist()
    assert sorted(queried) == list(range(n_rows))


def test_number_of_neighbors():
    assert {len(rows) for rows, _ in batches(100, 10, 25)} == {35}
    assert {len(rows) for rows, _ in batches(100, 10, None)} == {10}
    # No more rows than there are.
    assert {len(rows) for rows, _ in batches(100, 10, 90)} == {100}
    assert {len(rows) for rows, _ in batches(100, 10, 91)} == {100}


def test_no_batch_of_a_single_row():
    for n_rows in range(2, 30):
        assert min(n_queries for _, n_queries in batches(n_rows, 2, None)) >= 2


def test_batches_and_context_change_with_every_epoch_and_member():
    def two_epochs():
        generator = torch.Generator().manual_seed(0)
        return [[rows.tolist() for rows, _ in draw(50, 10, 10, 2, generator)] for _ in range(2)]

    first, second = two_epochs()
    assert first != second
    assert all(one != other for one, other in first)
    assert two_epochs() == [first, second]


def test_all_other_rows_are_equally_likely_as_context():
    generator = torch.Generator().manual_seed(0)
    together = np.zeros((20, 20))
    n_epochs = 2000
    for _ in range(n_epochs):
        for (rows,), n_queries in draw(20, 5, 5, 1, generator):
            together[np.ix_(rows[:n_queries], rows)] += 1
    others = together[~np.eye(20, dtype=bool)] / n_epochs
    # 4 of the batch and 5 of the context among 19 others.
    assert abs(others.mean() - 9 / 19) < 1e-9
    assert others.std() < 0.02

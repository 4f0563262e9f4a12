"""Batches and their context."""

import numpy as np
import pytest
import torch

from skneighbors._context import ContextSampler

CPU = torch.device("cpu")


def batches(n_rows, batch_size, context_size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return list(ContextSampler(n_rows, batch_size, context_size, generator, CPU).epoch())


@pytest.mark.parametrize("context_size", [None, 1, 7, 50, 1000])
@pytest.mark.parametrize(("n_rows", "batch_size"), [(2, 2), (5, 2), (33, 8), (64, 8), (10, 256)])
def test_every_row_is_a_query_once_an_epoch(n_rows, batch_size, context_size):
    queried = []
    for rows, queries in batches(n_rows, batch_size, context_size):
        assert len(set(rows.tolist())) == len(rows)
        assert len(rows) >= 2
        assert len(queries) <= batch_size + 1
        queried += rows[queries].tolist()
    assert sorted(queried) == list(range(n_rows))


def test_number_of_neighbours():
    assert {len(rows) for rows, _ in batches(100, 10, 25)} == {35}
    assert {len(rows) for rows, _ in batches(100, 10, None)} == {10}
    # No more rows than there are.
    assert {len(rows) for rows, _ in batches(100, 10, 90)} == {100}
    assert {len(rows) for rows, _ in batches(100, 10, 91)} == {100}


def test_no_batch_of_a_single_row():
    for n_rows in range(2, 30):
        assert min(len(queries) for _, queries in batches(n_rows, 2, None)) >= 2


def test_batches_and_context_change_with_every_epoch():
    sampler = ContextSampler(50, 10, 10, torch.Generator().manual_seed(0), CPU)
    first, second = ([rows.tolist() for rows, _ in sampler.epoch()] for _ in range(2))
    assert first != second
    again = ContextSampler(50, 10, 10, torch.Generator().manual_seed(0), CPU)
    assert first == [rows.tolist() for rows, _ in again.epoch()]


def test_all_other_rows_are_equally_likely_as_context():
    generator = torch.Generator().manual_seed(0)
    sampler = ContextSampler(20, 5, 5, generator, CPU)
    together = np.zeros((20, 20))
    n_epochs = 2000
    for _ in range(n_epochs):
        for rows, queries in sampler.epoch():
            together[np.ix_(rows[queries], rows)] += 1
    others = together[~np.eye(20, dtype=bool)] / n_epochs
    # 4 of the batch and 5 of the context among 19 others.
    assert abs(others.mean() - 9 / 19) < 1e-9
    assert others.std() < 0.02

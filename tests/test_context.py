"""Batches and their context."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors import _context
from skneighbors._context import ContextSampler


def make_sampler(n_rows, batch_size, context_size, n_near=None, n_members=1):
    generator = torch.Generator().manual_seed(0)
    return ContextSampler(
        n_rows, n_members, batch_size, context_size, n_near, generator, torch.device("cpu")
    )


def batches(*args):
    """Rows and number of queries of one member's batches."""
    return [(batch.rows[0], batch.n_queries) for batch in make_sampler(*args).epoch()]


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


def test_number_of_neighbours():
    assert {len(rows) for rows, _ in batches(100, 10, 25)} == {35}
    assert {len(rows) for rows, _ in batches(100, 10, None)} == {10}
    # No more rows than there are.
    assert {len(rows) for rows, _ in batches(100, 10, 90)} == {100}
    assert {len(rows) for rows, _ in batches(100, 10, 91)} == {100}


def test_no_batch_of_a_single_row():
    for n_rows in range(2, 30):
        assert min(n_queries for _, n_queries in batches(n_rows, 2, None)) >= 2


def test_batches_and_context_change_with_every_epoch_and_member():
    sampler = make_sampler(50, 10, 10, None, 2)
    first, second = ([rows.tolist() for rows, *_ in sampler.epoch()] for _ in range(2))
    assert first != second
    assert all(one != other for one, other in first)
    again = make_sampler(50, 10, 10, None, 2)
    assert first == [rows.tolist() for rows, *_ in again.epoch()]


def test_all_other_rows_are_equally_likely_as_context():
    sampler = make_sampler(20, 5, 5)
    together = np.zeros((20, 20))
    n_epochs = 2000
    for _ in range(n_epochs):
        for (rows,), n_queries, *weights in sampler.epoch():
            assert weights == [None, None]
            together[np.ix_(rows[:n_queries], rows)] += 1
    others = together[~np.eye(20, dtype=bool)] / n_epochs
    # 4 of the batch and 5 of the context among 19 others.
    assert abs(others.mean() - 9 / 19) < 1e-9
    assert others.std() < 0.02


def brute_force_nearest(z, k):
    distances = np.linalg.norm(z[:, None] - z, axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.sort(np.argsort(distances, axis=1)[:, :k], axis=1)


def test_near_rows_are_the_nearest():
    sampler = make_sampler(60, 10, 10, 3, 2)
    z = torch.randn(2, 60, 4, generator=torch.Generator().manual_seed(1))
    sampler.find_near(z)
    for member in range(2):
        expected = brute_force_nearest(z[member].numpy(), 3)
        assert (np.sort(sampler._near[member], axis=1) == expected).all()


def test_near_rows_are_looked_for_within_blocks(monkeypatch):
    monkeypatch.setattr(_context, "_SEARCHED_ROWS", 25)
    monkeypatch.setattr(_context, "_ROWS_AT_ONCE", 7)
    sampler = make_sampler(60, 10, 10, 3)
    z = torch.arange(60.0).view(1, 60, 1)
    sampler.find_near(z)
    near = sampler._near[0]
    assert (near != torch.arange(60).unsqueeze(1)).all()
    assert all(len(set(row.tolist())) == 3 for row in near)
    # Three blocks of 20 rows: near ones are about 3 apart instead of 1.
    assert 1 < (near - torch.arange(60).unsqueeze(1)).abs().float().mean() < 10


def make_near_sampler(n_rows, batch_size, context_size, n_near, n_members=1):
    sampler = make_sampler(n_rows, batch_size, context_size, n_near, n_members)
    z = torch.randn(n_members, n_rows, 3, generator=torch.Generator().manual_seed(1))
    sampler.find_near(z)
    return sampler


@pytest.mark.parametrize(("context_size", "n_brought"), [(15, 10), (10, 10), (4, 4)])
def test_rows_drawn_bring_one_of_their_nearest(context_size, n_brought):
    sampler = make_near_sampler(100, 10, context_size, 3, 2)
    drawn = []
    for rows, n_queries, weight, query_weight in sampler.epoch():
        assert n_queries == 10 + n_brought
        assert rows.shape == (2, 10 + context_size)
        assert weight.shape == (2, n_queries, 10 + context_size)
        assert query_weight.shape == (2, n_queries)
        drawn.append(rows[:, :10])
        for member in range(2):
            near = sampler._near[member, rows[member, :n_brought]]
            assert (near == rows[member, 10:n_queries, None]).any(1).all()
            # Drawn rows and those of the context are distinct.
            others = {*rows[member, :10].tolist(), *rows[member, n_queries:].tolist()}
            assert len(others) == 10 + context_size - n_brought
    assert (torch.cat(drawn, 1).sort().values == torch.arange(100)).all()


@pytest.mark.parametrize("context_size", [6, 12, 40])
def test_weights_stand_for_every_training_row(context_size):
    n_rows, n_members = 120, 2
    sampler = make_near_sampler(n_rows, 12, context_size, 4, n_members)
    total = np.zeros((2, n_members, n_rows, n_rows))
    n_seen = np.zeros((2, n_members, n_rows))
    for _ in range(400):
        for rows, n_queries, weight, query_weight in sampler.epoch():
            for member in range(n_members):
                counts = query_weight[member].numpy() > 0
                queries = rows[member, :n_queries].numpy()[counts]
                seen = np.zeros((n_queries, n_rows))
                np.add.at(seen, (slice(None), rows[member].numpy()), weight[member].numpy())
                seen = seen[counts]
                # A sample of all rows, the query itself included.
                assert_allclose(seen.sum(1), n_rows, rtol=1e-5)
                assert (seen[np.arange(len(queries)), queries] == 1).all()
                brought = np.arange(n_queries)[counts] >= 12
                for part, chosen in enumerate((~brought, brought)):
                    np.add.at(total[part, member], queries[chosen], seen[chosen])
                    np.add.at(n_seen[part, member], queries[chosen], 1)
    # In the mean a query sees every other row about once, its nearest too, and be it
    # drawn or brought by a row that it is near to; rows near to many are in a batch
    # more often than rows near to none.
    with np.errstate(invalid="ignore"):
        mean = total / n_seen[..., None]
    assert_allclose(np.nanmean(mean, axis=2), 1, atol=0.2)
    near = np.stack([sampler._near.numpy()] * 2)
    assert np.nanmean(np.take_along_axis(mean, near, 3)) == pytest.approx(1, abs=0.05)
    bringing = (near[..., None] == np.arange(n_rows)).any(3).swapaxes(2, 3)
    for popular in (False, True):
        some = bringing & ((bringing.sum(3, keepdims=True) > 5) == popular)
        assert np.nanmean(mean[some]) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("context_size", [6, 12, 40])
def test_errors_of_all_rows_count_the_same(context_size):
    n_rows = 120
    sampler = make_near_sampler(n_rows, 12, context_size, 4)
    counted, n_batches = np.zeros(n_rows), 0
    for _ in range(400):
        for (rows,), n_queries, _, (query_weight,) in sampler.epoch():
            share = query_weight / query_weight.sum()
            np.add.at(counted, rows[:n_queries].numpy(), share.numpy())
            n_batches += 1
    assert_allclose(counted / n_batches * n_rows, 1, atol=0.15)


def test_a_near_row_never_is_the_query_itself_in_disguise():
    sampler = make_sampler(40, 10, 10, 2)
    sampler.find_near(torch.arange(40.0).view(1, 40, 1))
    for _ in range(20):
        for (rows,), n_queries, (weight,), (query_weight,) in sampler.epoch():
            same = rows[:n_queries].unsqueeze(1) == rows
            same[torch.arange(n_queries), torch.arange(n_queries)] = False
            assert (weight[same & (query_weight > 0).unsqueeze(1)] == 0).all()
            # Of a row's columns, one counts as a query.
            counted = rows[:n_queries][query_weight > 0]
            assert len(counted.unique()) == len(counted)

"""Batches and their context."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors._training import batches as module
from skneighbors._training.batches import ContextSampler


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


@pytest.mark.parametrize("n_at_once", [7, 64])
def test_near_rows_are_the_nearest(monkeypatch, n_at_once):
    monkeypatch.setattr(module, "_CACHED_ROWS", n_at_once)
    sampler = make_sampler(60, 10, 10, 3, 2)
    z = torch.randn(2, 60, 4, generator=torch.Generator().manual_seed(1))
    sampler.find_near(z)
    for member in range(2):
        expected = brute_force_nearest(z[member].numpy(), 3)
        assert (np.sort(sampler._near[member], axis=1) == expected).all()


def test_near_rows_are_looked_for_within_blocks(monkeypatch):
    monkeypatch.setattr(module, "_SEARCHED_ROWS", 25)
    monkeypatch.setattr(module, "_CACHED_ROWS", 7)
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


@pytest.fixture(scope="module", params=[(6, 4), (12, 4), (40, 4), (12, 1)])
def seen(request):
    """What many batches of 12 rows drawn from 120 show, by context size and near rows.

    Who is near to whom (n, n); each row's mean share in the errors times n; and of the
    queries that bring a row, that bring none and that are brought the mean weights
    (n, n) of all rows, NaN for rows that never were such queries.
    """
    (context_size, n_near), n_rows, n_drawn = request.param, 120, 12
    # The second member shows whether members are kept apart.
    sampler = make_near_sampler(n_rows, n_drawn, context_size, n_near, n_members=2)
    near = np.zeros((n_rows, n_rows), dtype=bool)
    np.put_along_axis(near, sampler._near[1].numpy(), True, axis=1)
    total, n_seen = np.zeros((3, n_rows, n_rows)), np.zeros((3, n_rows))
    siblings, errors, n_batches = [], np.zeros(n_rows), 0
    for _ in range(250):
        for (_, rows), n_queries, (_, weight), (_, query_weight) in sampler.epoch():
            rows, weight, query_weight = (a.numpy() for a in (rows, weight, query_weight))
            queries = rows[:n_queries]
            np.add.at(errors, queries, query_weight / query_weight.sum())
            n_batches += 1
            by_row = np.zeros((n_queries, n_rows))
            np.add.at(by_row, (slice(None), rows), weight)
            counts = query_weight > 0
            # A sample of all rows, the query itself included.
            assert_allclose(by_row[counts].sum(1), n_rows, rtol=1e-5)
            assert (by_row[np.arange(n_queries), queries][counts] == 1).all()
            n_brought = n_queries - n_drawn
            kinds = np.where(np.arange(n_queries) < n_brought, 0, 1)
            kinds[n_drawn:] = 2
            np.add.at(total, (kinds[counts], queries[counts]), by_row[counts])
            np.add.at(n_seen, (kinds[counts], queries[counts]), 1)
            brought = np.flatnonzero(counts[n_drawn:])
            of_bringer = near[queries[brought]] & ~near[:, queries[n_drawn + brought]].T
            of_bringer[np.arange(len(brought)), queries[n_drawn + brought]] = False
            siblings.append(by_row[n_drawn + brought][of_bringer])
    with np.errstate(invalid="ignore"):
        mean = total / n_seen[..., None]
    # A context of fewer rows than are drawn leaves some that bring none.
    assert np.isnan(mean[1]).all() == (context_size >= n_drawn)
    assert not np.isnan(mean[[0, 2]]).all((1, 2)).any()
    assert (len(np.concatenate(siblings)) > 0) == (n_near > 1)
    return near, mean, np.concatenate(siblings), errors / n_batches * n_rows


@pytest.mark.slow
def test_weights_stand_for_every_training_row(seen):
    near, (bringing, drawn, brought), siblings, _ = seen
    # In the mean a query sees every other row once: its nearest, those it is near to
    # and rows that are near to none or to many, be it drawn or brought.
    n_near_to = near.sum(0)
    groups = [near, near & ~near.T, near.T, near.T & (n_near_to > 5)[:, None]]
    groups += [~near & ~near.T & (n_near_to == n) for n in np.unique(n_near_to)]
    for mean in (bringing, drawn, brought):
        known = ~np.isnan(mean) & ~np.eye(len(near), dtype=bool)
        for group in groups:
            if (known & group).sum() > 200:
                assert mean[known & group].mean() == pytest.approx(1, abs=0.1)
        if known.any():
            assert mean[known].mean() == pytest.approx(1, abs=0.02)
            assert mean[known & near].mean() == pytest.approx(1, abs=0.06)
    if len(siblings):
        assert siblings.mean() == pytest.approx(1, abs=0.1)


def test_errors_of_all_rows_count_the_same(seen):
    near, _, _, errors = seen
    for n in np.unique(near.sum(0)):
        assert errors[near.sum(0) == n].mean() == pytest.approx(1, abs=0.08)


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

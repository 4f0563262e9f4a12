"""The joint embedding space: distances, and points that are near where they are small."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from skneighbors.nn import similarity
from skneighbors.nn._similarity import SIMILARITIES

NAMES = {"l2": "euclidean", "l1": "cityblock", "cosine": "cosine"}


def distances_of(metric, queries, Z):
    if metric == "dot":
        return -queries @ Z.T / Z.shape[1]
    return cdist(queries, Z, NAMES[metric])


def compared(metric, queries, Z, by_member):
    z, z_n = by_member(queries), by_member(Z)
    return SIMILARITIES[metric].compare(z, z_n, torch.arange(len(z_n)).expand(len(z), -1))


def test_distances_are_those_of_the_embeddings_side_by_side(metric, points, by_member):
    Z, queries = points(), points(20, seed=1)
    s, distances = compared(metric, queries, Z, by_member)
    assert_allclose(distances, distances_of(metric, queries, Z), atol=1e-12)
    for member in range(2):
        own = (torch.from_numpy(part[:, 3 * member : 3 * member + 3]) for part in (queries, Z))
        assert_allclose(s[member], similarity(*own, metric), atol=1e-7)


def test_the_nearest_points_have_the_smallest_distances(metric, points, by_member):
    Z, queries, space = 3 * points() + 1, points(20, seed=1), SIMILARITIES[metric]
    found = torch.cdist(
        space.query_points(by_member(queries)), space.row_points(by_member(Z)), p=space.p
    )
    distances = compared(metric, queries, Z, by_member)[1]
    assert_allclose(
        distances.take_along_dim(found.argsort(1), 1), distances.sort(1).values, atol=1e-7
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_an_engine_errs_by_less_than_the_reach(metric, scale, points, by_member):
    """Distances from products, as engines find them, against those from differences."""
    Z = (points() + 30) * scale
    Z[20:40] = Z[0] * (1 + 1e-9)
    z, space = by_member(Z), SIMILARITIES[metric]
    distances, norms = compared(metric, Z, Z, by_member)[1], space.norms(z)
    points_n = space.row_points(z).numpy()
    radius, n_dims = norms.max(), Z.shape[1]
    if metric == "l1":
        found = torch.from_numpy(cdist(points_n, points_n, "cityblock"))
    elif metric == "l2":
        squares = (points_n**2).sum(1)
        found = squares[:, None] + squares - 2 * points_n @ points_n.T
        found = torch.from_numpy(np.sqrt(np.maximum(found, 0)))
    elif metric == "dot":
        found = torch.from_numpy(-Z @ Z.T / n_dims)
    else:
        found = torch.from_numpy(1 - points_n @ points_n.T)
    reach = torch.stack([space.reach(column, norms, radius, n_dims) for column in distances.T], 1)
    assert (found <= reach).all()


def test_equal_rows_are_at_one_distance(metric, points, by_member):
    Z = np.vstack([points(), points()])
    s, distances = compared(metric, points(20, seed=1), Z, by_member)
    assert_array_equal(distances[:, :60], distances[:, 60:])
    assert_array_equal(s[..., :60], s[..., 60:])

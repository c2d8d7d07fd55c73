"""Approximate neighbor searches against the exact one: CPU seconds of one thread, and recall.

    pip install faiss-cpu pynndescent
    python benchmarks/engines.py ENGINE [N_EXAMPLES]

ENGINE is exact, flat, ivf, hnsw (the last three are of faiss) or pynndescent. Searched are the ten
nearest examples to each of 10,000 queries, in 30 dimensions. ``build`` is the time to build the
index, which every metric needs anew.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

from growth import ONE_THREAD, RARE_SHARE, make_clusters

os.environ.update({**ONE_THREAD, "NUMBA_NUM_THREADS": "1"})  # before NumPy is imported

import numpy as np

from raremetric.neighbors import NeighborSearch

N_QUERIES, K = 10_000, 10
Search = Callable[[np.ndarray], np.ndarray]  # queries to the rows of their nearest examples


def flat(X) -> Iterator[tuple[str, Search]]:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    yield "", lambda Q: index.search(Q, K)[1]


def ivf(X) -> Iterator[tuple[str, Search]]:
    import faiss

    n_lists, rng = int(4 * np.sqrt(len(X))), np.random.RandomState(0)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
    index.train(X[rng.choice(len(X), min(len(X), 40 * n_lists), replace=False)])
    index.add(X)
    for index.nprobe in (16, 32, 64, 128, 256):
        yield f"{index.nprobe} of {n_lists} lists", lambda Q: index.search(Q, K)[1]


def hnsw(X) -> Iterator[tuple[str, Search]]:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 32)
    index.hnsw.efConstruction = 100
    index.add(X)
    for index.hnsw.efSearch in (50, 100, 200):
        yield f"efSearch {index.hnsw.efSearch}", lambda Q: index.search(Q, K)[1]


def pynndescent(X) -> Iterator[tuple[str, Search]]:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=30, n_jobs=1, random_state=0)
    index.prepare()
    index.query(X[:10], K)  # compiles
    for epsilon in (0.1, 0.3):
        yield f"epsilon {epsilon}", lambda Q, e=epsilon: index.query(Q, K, epsilon=e)[0]


def main() -> None:
    engine, n_examples = sys.argv[1], int([*sys.argv, "100000"][2])
    X, _ = make_clusters(n_examples, RARE_SHARE, 0, 0)
    queries, _ = make_clusters(N_QUERIES, RARE_SHARE, 0, 1)
    NeighborSearch(X[:500]).nearest(queries[:50], K)  # compiles
    started = time.process_time()
    nearest = NeighborSearch(X).nearest(queries, K).indices
    print(f"exact: {time.process_time() - started:.2f} seconds")
    if engine == "exact":
        return
    X, queries = X.astype(np.float32), queries.astype(np.float32)
    build = -time.process_time()
    for setting, search in {each.__name__: each for each in (flat, ivf, hnsw, pynndescent)}[engine](
        X
    ):
        build += time.process_time() if build < 0 else 0.0
        started = time.process_time()
        found = search(queries)
        seconds = time.process_time() - started
        recall = np.mean([np.isin(a, b).mean() for a, b in zip(nearest, found, strict=True)])
        print(f"{engine} {setting}: build {build:.1f}, search {seconds:.2f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()

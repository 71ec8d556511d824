"""Writes golden.json with NumPy's own figures: python golden.py > golden.json"""
import json
import numpy as np

cases = []
for seed in (0, 1, 42, 2**32 - 1, 2**32, 7482988128170761525, 2**63, 2**64 - 1):
    new = lambda: np.random.default_rng(seed)
    g = new()
    mixed = [int(g.integers(6))]          # takes half a word
    mixed.append(int(g.integers(0, 2**64, dtype=np.uint64, endpoint=False)))  # a whole one
    mixed.append(int(g.integers(6)))      # the half that was kept
    things = list(range(20))
    new().shuffle(things)
    g = new()
    cases.append({
        "seed": str(seed),
        "uint64": [str(int(v)) for v in new().bit_generator.random_raw(5)],
        "float64": [float(v) for v in new().random(5)],
        "uniform": [float(new().uniform(lo, hi)) for lo, hi in ((0.0, 1.0), (-3.5, 1e9), (7.0, 7.0), (0.1, 0.3))],
        "integers": [int(g.integers(n)) for n in (1, 2, 3, 7, 64, 393, 10**6, 2**31 + 1, 2**32 - 1, 2**31 + 1, 3 * 2**30)],
        "mixed": [str(v) for v in mixed],
        "shuffle": things,
        "permutation": [int(v) for v in new().permutation(393)],
    })
print('{"numpy": "%s", "cases": [' % np.__version__)
print(",\n".join(json.dumps(c) for c in cases))
print("]}")

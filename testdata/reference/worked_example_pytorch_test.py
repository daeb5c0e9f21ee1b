"""PyTorch still gives what worked_example_pytorch.json records of it."""

import json
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import make_worked_example  # noqa: E402

# Another version may order its sums differently: some ten roundings of values
# below 4.
ROUNDING = 5e-15


def leaves(tree, path=()):
    """(path, number) for every number in nested objects and lists."""
    if isinstance(tree, dict):
        for name, branch in tree.items():
            yield from leaves(branch, (*path, name))
    elif isinstance(tree, list):
        for index, branch in enumerate(tree):
            yield from leaves(branch, (*path, index))
    else:
        yield path, tree


class WorkedExampleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        path = FOLDER / "worked_example_pytorch.json"
        recorded = json.loads(path.read_text(encoding="utf-8"))
        cls.recorded = dict(leaves(recorded["values"]))
        cls.now = dict(leaves(make_worked_example.worked_example()["values"]))

    def test_same_members(self):
        self.assertEqual(self.recorded.keys(), self.now.keys())

    def test_same_values(self):
        for path, value in self.recorded.items():
            with self.subTest(path=path):
                self.assertAlmostEqual(self.now[path], value, delta=ROUNDING)

    def test_printed_values(self):
        # As the chapter prints them.
        output = [self.now["causal_scaled", "output", 2, c] for c in range(2)]
        self.assertEqual([round(x, 3) for x in output], [1.759, 2.007])
        gradient = [self.now["gradients", "query", 2, c] for c in range(2)]
        self.assertEqual([round(x, 3) for x in gradient], [0.001, 0.352])


if __name__ == "__main__":
    unittest.main()

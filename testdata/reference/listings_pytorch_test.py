"""PyTorch still does what listings_pytorch.json records of it."""

import json
import pathlib
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import make_listings  # noqa: E402

# Differences between two orders of the same sums: some tens of roundings of
# values below 5.
ROUNDING = {"float64": 1e-14, "float32": 1e-5}


class ListingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        recorded = (FOLDER / "listings_pytorch.json").read_text(encoding="utf-8")
        cls.recorded = json.loads(recorded)["values"]
        cls.now = make_listings.listings()["values"]

    def test_same_members(self):
        self.assertEqual(self.recorded.keys(), self.now.keys())
        for dtype, record in self.recorded["masking"].items():
            self.assertEqual(record.keys(), self.now["masking"][dtype].keys())

    def test_multi_head(self):
        self.assertEqual(self.recorded["multi_head"], self.now["multi_head"])

    def test_masking(self):
        for dtype, record in self.recorded["masking"].items():
            for name, value in record.items():
                with self.subTest(dtype=dtype, name=name):
                    self.assertAlmostEqual(
                        self.now["masking"][dtype][name], value,
                        delta=ROUNDING[dtype])

    def test_exact_statements(self):
        for dtype, record in self.now["masking"].items():
            with self.subTest(dtype=dtype):
                self.assertEqual(record["blind_row_fused_largest_magnitude"], 0)
                self.assertEqual(
                    record["blind_row_by_hand_nan_entries"],
                    record["blind_row_entries"])
                self.assertGreater(
                    record["blind_row_lowest_finite_largest_magnitude"], 0.1)


if __name__ == "__main__":
    unittest.main()

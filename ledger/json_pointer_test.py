"""Tests of JSON pointers."""

import unittest

from ledger.json_pointer import PointerError, resolve, shown

_DOCUMENT = {"a": [1, {"b/c": 2, "d~e": None}], "": 3, "0": 4, "*": 5}


class Resolve(unittest.TestCase):
    def test_values(self):
        for pointer, value in (
            ("", _DOCUMENT),
            ("/a/0", 1),
            ("/a/1/b~1c", 2),
            ("/a/1/d~0e", None),
            ("/", 3),
            ("/0", 4),
            ("/*", 5),
        ):
            self.assertEqual(resolve(_DOCUMENT, pointer), value, pointer)

    def test_nothing(self):
        for pointer, words in (
            ("a", ('"a"', '"/"')),
            ("/b", ('"b"', '"/"', "a, ")),
            ("/a/2", ('"2"', '"/a"', "array of 2")),
            ("/a/00", ('"00"', "array of 2")),
            ("/a/-1", ('"-1"', "array of 2")),
            ("/a/-", ('"-"',)),
            ("/a/*", ('"*"', "array of 2")),
            ("/a/x", ('"x"',)),
            ("/a/0/0", ('"0"', '"/a/0"', "which is 1")),
            ("/a/1/b", ('"b"', "b/c, d~e")),
            ("/a/1/d~0e/x", ('"x"', "null")),
        ):
            with self.assertRaises(PointerError, msg=pointer) as caught:
                resolve(_DOCUMENT, pointer)
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_every_element(self):
        rows = {"rows": [{"x": [1, 2]}, {"x": [3, 4]}]}
        for pointer, values in (
            ("/rows/*/x/1", [2, 4]),
            ("/rows/*/x/*", [[1, 2], [3, 4]]),
        ):
            self.assertEqual(resolve(rows, pointer, every=True), values)
        with self.assertRaisesRegex(PointerError, '"y" at "/rows/0"'):
            resolve(rows, "/rows/*/y", every=True)


class Shown(unittest.TestCase):
    def test_long_values_are_cut(self):
        self.assertEqual(shown([1, "短"]), '[1, "短"]')
        self.assertEqual(len(shown("x" * 100)), 60)


if __name__ == "__main__":
    unittest.main()

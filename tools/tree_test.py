"""The rules on the tree find what breaks them, and only that."""

import unittest

from tools import tree
from tools.tree import Edge

QUERY = """<?xml version="1.1"?>
<query version="2">
  <rule class="cc_library" name="//model:config">
    <rule-input name="//base:json"/>
    <rule-input name="@abseil//:status"/>
  </rule>
  <rule class="cc_test" name="//base:json_test">
    <rule-input name="//model:config"/>
  </rule>
  <rule class="test_suite" name="//base:all_tests">
    <rule-input name="//model:config_test"/>
  </rule>
  <rule class="cc_library" name="//base:json_testing">
    <boolean name="testonly" value="true"/>
    <rule-input name="//model:config"/>
  </rule>
  <source-file name="//model:config.h"/>
</query>
"""


def found(kind, target, dependency):
    return list(tree.problems([Edge(kind, target, dependency)]))


class EdgesTest(unittest.TestCase):
    def test_what_is_no_test_and_in_this_repository(self):
        self.assertEqual(
            list(tree.edges_of(QUERY)),
            [Edge("cc_library", "//model:config", "//base:json")])


class ProblemsTest(unittest.TestCase):
    def test_down_is_allowed(self):
        for target, dependency in (
                ("//model:config", "//base:json"),
                ("//experiments/induction:print", "//interpretability:circuits"),
                ("//experiments/induction:print", "//experiments/frame:experiment"),
                ("//attention/textbook:x", "//attention/reference:y"),
                ("//analysis/report:page", "//ledger:rules")):
            self.assertEqual(found("cc_library", target, dependency), [])

    def test_up_is_not(self):
        for kind in ("cc_library", "cc_binary", "alias", "genrule"):
            self.assertEqual(
                found(kind, "//base:json", "//model:config"),
                ["//base:json depends on //model:config: base/ may depend on "
                 "nothing"])
        self.assertIn(
            "may depend on model, attention, base",
            found("cc_library", "//interpretability:x", "//experiments:y")[0])

    def test_sideways(self):
        self.assertEqual(
            found("cc_library", "//experiments/masking:x",
                  "//experiments/multi_head:y"),
            ["//experiments/masking:x depends on //experiments/multi_head:y: "
             "libraries of experiments/masking may use experiments/frame"])
        self.assertIn("may use no other package",
                      found("cc_library", "//attention:mask",
                            "//attention/kernels:gemm")[0])
        # The program's label in the folder above.
        self.assertEqual(
            found("alias", "//attention:attend", "//attention/attend:attend"), [])

    def test_folders_come_in_order(self):
        seen = set()
        for name, allowed in tree.FOLDERS.items():
            self.assertLessEqual(set(allowed), seen, name)
            seen.add(name)

    def test_what_has_no_rule(self):
        self.assertEqual(
            found("cc_library", "//new:x", "//base:json"),
            ["folder new/ has no rule in tools/tree.py"])
        self.assertEqual(
            found("cc_library", "//base/new:x", "//base:json"),
            ["package base/new has no rule in tools/tree.py"])


class SizeTest(unittest.TestCase):
    def test_files(self):
        self.assertEqual(
            list(tree.size_problems({
                "a/b.cc": 500, "a/c.cc": 501, "a/BUILD": 700, "b/BUILD": 701,
                "a/data.json": 9999, "a/d_test.cc": 501})),
            ["a/c.cc has 501 lines; allowed: 500",
             "a/d_test.cc has 501 lines; allowed: 500",
             "b/BUILD has 701 lines; allowed: 700"])

    def test_folders(self):
        full = {f"a/f{n}.h": 1 for n in range(50)}
        self.assertEqual(list(tree.size_problems(
            {**full, "a/f_test.cc": 1, "a/b/g.cc": 1, "a/g.md": 1})), [])
        self.assertEqual(list(tree.size_problems({**full, "a/g.py": 1})),
                         ["a/ holds 51 sources; allowed: 50"])


class PathTest(unittest.TestCase):
    FILES = ["base/tensor/shape.h", "base/tensor/shape.cc", "tools/setup"]

    def problems(self, text):
        return list(tree.path_problems("X.md", text, self.FILES))

    def test_there(self):
        self.assertEqual(self.problems(
            "`base/`, `base/tensor/`, `base/tensor/shape.h`, `tools/setup`, "
            "`base/tensor/shape`, `base/NAME.cc`, `lib/x.so`, `a + b / c`, `[B, T]`, //base/x"), [])

    def test_not_there(self):
        self.assertEqual(
            self.problems("`base/shape.h` and `base/tensors/`"),
            ["X.md names base/shape.h, which is not there",
             "X.md names base/tensors/, which is not there"])


if __name__ == "__main__":
    unittest.main()

"""The rules on dependencies find what points the wrong way, and only that."""

import unittest

from tools import dependencies
from tools.dependencies import Edge

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
    return list(dependencies.problems([Edge(kind, target, dependency)]))


class EdgesTest(unittest.TestCase):
    def test_what_is_no_test_and_in_this_repository(self):
        self.assertEqual(
            list(dependencies.edges_of(QUERY)),
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
        for name, allowed in dependencies.FOLDERS.items():
            self.assertLessEqual(set(allowed), seen, name)
            seen.add(name)

    def test_what_has_no_rule(self):
        self.assertEqual(
            found("cc_library", "//new:x", "//base:json"),
            ["folder new/ has no rule in tools/dependencies.py"])
        self.assertEqual(
            found("cc_library", "//base/new:x", "//base:json"),
            ["package base/new has no rule in tools/dependencies.py"])


if __name__ == "__main__":
    unittest.main()

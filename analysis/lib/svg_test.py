"""Tests of SVG text: what is stripped, prefixed and put together."""

import unittest
import xml.etree.ElementTree as ElementTree

from analysis.lib import svg

_MATPLOTLIB = """<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="252pt" height="194.4pt" viewBox="0 0 252 194.4" xmlns="http://www.w3.org/2000/svg" version="1.1">
 <metadata><a>Matplotlib</a></metadata>
 <defs>
  <style type="text/css">*{stroke-linejoin: round}</style>
 </defs>
 <g id="figure_1"><!-- note -->
  <path d="M 1.23456 -2.000001
L 3 4.5 " clip-path="url(#p1)" style="fill: none"/>
  <use xlink:href="#m1" transform="scale(0.015625)"/>
 </g>
 <defs><clipPath id="p1"/><path id="m1" d="M 0.001 -0.004 z"/></defs>
 <defs>
  <path id="Sans-30" d="M 1 2 z" transform="scale(0.015625)"/>
  <path id="Sans-20" transform="scale(0.015625)"/>
 </defs>
 <use xlink:href="#Sans-30"/><use xlink:href="#Sans-20"/>
</svg>
"""


def drawing(
    width=10.0, height=5.0, body='<g id="a"/>', description="d", glyphs=None
):
    return svg.Drawing(width, height, body, description, glyphs or {})


class FromMatplotlib(unittest.TestCase):
    def setUp(self):
        self.drawing = svg.from_matplotlib(_MATPLOTLIB, "what it shows")

    def test_size(self):
        self.assertEqual(
            (self.drawing.width, self.drawing.height), (252, 194.4)
        )

    def test_only_elements_are_left(self):
        for gone in (
            "metadata",
            "style type",
            "<!--",
            "xlink",
            "DOCTYPE",
            "<svg",
        ):
            self.assertNotIn(gone, self.drawing.body)
        self.assertIn('<g id="figure_1">', self.drawing.body)
        self.assertEqual(self.drawing.body.count("<defs>"), 1)

    def test_paths_are_rounded_and_nothing_else(self):
        self.assertIn('d="M 1.23 -2 L 3 4.5"', self.drawing.body)
        self.assertIn('d="M 0 0 z"', self.drawing.body)
        self.assertIn("scale(0.015625)", self.drawing.body)

    def test_glyphs_are_apart(self):
        self.assertEqual(
            self.drawing.glyphs,
            {
                "glyph-Sans-30": 'd="M 1 2 z" transform="scale(0.015625)"',
                "glyph-Sans-20": 'transform="scale(0.015625)"',
            },
        )
        self.assertIn('<use href="#glyph-Sans-30"/>', self.drawing.body)
        self.assertNotIn('id="Sans', self.drawing.body)
        self.assertIn('<path id="m1"', self.drawing.body)

    def test_another_text_is_refused(self):
        with self.assertRaises(ValueError):
            svg.from_matplotlib("<svg></svg>", "")


class Prefix(unittest.TestCase):
    def test_ids_and_references(self):
        body = svg.from_matplotlib(_MATPLOTLIB, "").body
        prefixed = svg.with_prefix(body, "x-")
        for part in (
            'id="x-figure_1"',
            'id="x-p1"',
            'id="x-m1"',
            "url(#x-p1)",
            'href="#x-m1"',
            'href="#glyph-Sans-30"',
        ):
            self.assertIn(part, prefixed)
        self.assertNotIn('"#m1', prefixed)


class Glyphs(unittest.TestCase):
    def test_each_once_and_in_order(self):
        first = drawing(glyphs={"glyph-b": 'd="2"', "glyph-a": 'd="1"'})
        second = drawing(glyphs={"glyph-a": 'd="1"'})
        self.assertEqual(
            svg.glyph_definitions([first, second]),
            '<defs><path id="glyph-a" d="1"/><path id="glyph-b" d="2"/></defs>',
        )
        self.assertIn(
            svg.glyph_definitions([first]), svg.shared_glyphs([first])
        )
        self.assertIn(
            svg.glyph_definitions([first]), svg.compose([first], 2, "")
        )

    def test_two_outlines_under_one_id(self):
        with self.assertRaisesRegex(ValueError, "glyph-a"):
            svg.glyph_definitions(
                [drawing(glyphs={"glyph-a": x}) for x in ('d="1"', 'd="2"')]
            )


class Compose(unittest.TestCase):
    def test_rows_and_a_centred_last_one(self):
        wide, tall = drawing(10, 5), drawing(20, 8)
        self.assertEqual(
            svg.grid([wide, tall, wide], 2), [(0, 0), (10, 0), (10, 8)]
        )
        self.assertEqual(svg.grid([wide], 2), [(0, 0)])

    def test_the_file(self):
        text = svg.compose(
            [drawing(description="a < b"), drawing(20, 8)], 2, "sha256:1"
        )
        root = ElementTree.fromstring(text.encode())
        self.assertEqual(root.get("viewBox"), "0 0 30 8")
        self.assertIn("drawn from sha256:1", text)
        self.assertIn("a &lt; b", text)
        self.assertIn('id="panel-0-a"', text)
        self.assertIn('id="panel-1-a"', text)
        self.assertIn('x="10" y="0" width="20" height="8"', text)

    def test_inline(self):
        text = svg.inline(drawing(description='say "hi" & <go>'), "p-")
        element = ElementTree.fromstring(text)
        self.assertEqual(element.get("aria-label"), 'say "hi" & <go>')
        self.assertEqual(element.get("role"), "img")
        self.assertEqual(element.get("viewBox"), "0 0 10 5")
        self.assertIn('id="p-a"', text)


if __name__ == "__main__":
    unittest.main()

"""The token level of tools/mutate."""

import unittest

from tools import mutation


def described(text):
    return [fault.what for fault in mutation.faults(text)]


def spoiled(text):
    return [fault.apply(text) for fault in mutation.faults(text)]


class TokensTest(unittest.TestCase):
    def texts(self, text):
        return [token.text for token in mutation.tokens(text)]

    def test_comments_and_preprocessor_lines_are_dropped(self):
        self.assertEqual(self.texts('#include "x.h"\n#define F(x) \\\n  x + 1\n'
                                    "a /* b + c */ d; // e - f\n  #endif\ng"),
                         ["a", "d", ";", "g"])

    def test_strings_are_one_token(self):
        self.assertEqual(self.texts(r'f("a \" + b", R"x(1 " )" + 2)x", '
                                    r"'\'', '+');"),
                         ["f", "(", r'"a \" + b"', ",", 'R"x(1 " )" + 2)x"',
                          ",", r"'\''", ",", "'+'", ")", ";"])

    def test_numbers_are_one_token(self):
        numbers = ["0", "1'000'000", "0x1p-53", "1e-50", "0.5f", ".5",
                   "0xFFu", "12LL", "2.5e+3"]
        self.assertEqual(self.texts(" ".join(numbers)), numbers)
        self.assertEqual(self.texts("1-2"), ["1", "-", "2"])
        self.assertEqual(self.texts("'a'1"), ["'a'", "1"])

    def test_signs(self):
        self.assertEqual(self.texts("a->b<<=c&&d...e::f<=>g"),
                         ["a", "->", "b", "<<=", "c", "&&", "d", "...", "e",
                          "::", "f", "<=>", "g"])

    def test_positions(self):
        text = "ab +\n  cd"
        for token in mutation.tokens(text):
            self.assertEqual(text[token.start:token.end], token.text)
        self.assertEqual(mutation.line_of(text, text.index("cd")), 2)


class FaultsTest(unittest.TestCase):
    def test_binary_operators(self):
        self.assertEqual(spoiled("x = a + b;"), ["x = a - b;", "x = a ;"])
        self.assertEqual(spoiled("x = a * b;"), ["x = a / b;", "x = a ;"])
        self.assertEqual(spoiled("x += a;"), ["x -= a;"])
        self.assertEqual(spoiled("x = a % b;")[0], "x = a * b;")
        self.assertEqual(spoiled("x = a << b;"), ["x = a >> b;"])
        self.assertEqual(spoiled("x = a ^ b;"), ["x = a | b;"])

    def test_comparisons(self):
        for before, after in (("<", "<="), ("<=", "<"), (">", ">="),
                              (">=", ">"), ("==", "!="), ("!=", "==")):
            self.assertEqual(spoiled(f"x = a {before} b;"),
                             [f"x = a {after} b;"])

    def test_logic(self):
        self.assertEqual(spoiled("x = a && !b || c;"),
                         ["x = a || !b || c;", "x = a  || c;",
                          "x = a && b || c;", "x = a && !b && c;",
                          "x = a && !b ;"])

    def test_what_only_looks_like_an_operator(self):
        for text in ("std::vector<int> v;", "template <typename T>\nvoid F();",
                     "const T* p = &x;", "void F(T&& x);", "*p = x;",
                     "a->b();", "Map<A, std::vector<B>> m;",
                     "bool operator==(const T&);", "virtual void F() = 0;",
                     "T(const T&) = delete;"):
            self.assertEqual(described(text), [], text)

    def test_an_operator_at_the_end_of_a_line(self):
        self.assertEqual(spoiled("x = a +\n    b;"),
                         ["x = a -\n    b;", "x = a \n;"])

    def test_dropped_terms_end_where_they_should(self):
        def dropped(text):
            return [what for what in described(text) if "dropped" in what]

        self.assertEqual(dropped("x = a + b * c - d;"),
                         ["dropped '+ b * c'", "dropped '* c'",
                          "dropped '- d'"])
        self.assertEqual(dropped("f(a + g(b, c + d), e);"),
                         ["dropped '+ g(b, c + d)'", "dropped '+ d'"])
        self.assertEqual(dropped("x = p && a < b || q;"),
                         ["dropped '&& a < b'", "dropped '|| q'"])
        self.assertEqual(dropped("x = a + b < c ? d - e : f;"),
                         ["dropped '+ b'", "dropped '- e'"])
        self.assertEqual(dropped("x = v[i - j] / n;"),
                         ["dropped '- j'", "dropped '/ n'"])

    def test_unary_operators(self):
        self.assertEqual(spoiled("x = -a;"), ["x = a;"])
        self.assertEqual(spoiled("return -a;"), ["return a;"])
        self.assertEqual(spoiled("x = f(-a);"), ["x = f(a);"])
        self.assertEqual(spoiled("x = !a;"), ["x = a;"])
        self.assertEqual(spoiled("++a;"), ["--a;"])

    def test_constants(self):
        for before, after in (("0", "1"), ("1", "0"), ("2", "3"),
                              ("0u", "1u"), ("0x1F", "0x20"), ("10LL", "11LL"),
                              ("0.0", "1.0"), ("1.0", "0.0"), ("0.5", "1.0"),
                              ("2.5f", "5.0f"), ("1e-5", "2e-05"),
                              ("0x1p-53", "0x1p-52"), ("1'000", "1001")):
            self.assertEqual(spoiled(f"x = {before};"), [f"x = {after};"])
        self.assertEqual(spoiled("x = true;"), ["x = false;"])
        self.assertEqual(spoiled("x = '1';"), [])

    def test_indices(self):
        self.assertEqual(spoiled("x = v[i];"), ["x = v[i + 1];"])
        self.assertEqual(spoiled("x = v[0];"), ["x = v[1];"])
        # A lambda's capture is no index.
        self.assertEqual(spoiled("f([x] {});"), [])

    def test_loops(self):
        self.assertEqual(spoiled("for (int i = a; i < n; ++i) --x;"),
                         ["for (int i = a; i <= n; ++i) --x;",
                          "for (int i = a; i < n; ++i) ++x;"])
        self.assertEqual(spoiled("break;"), ["continue;"])

    def test_words(self):
        self.assertEqual(spoiled("x = std::max(a, b);"),
                         ["x = std::min(a, b);"])
        self.assertEqual(spoiled("x = y.max();"), [])
        self.assertEqual(spoiled("x = Sin(a);"), ["x = Cos(a);"])

    def test_checks(self):
        self.assertEqual(spoiled("SOFTLOOKUP_RETURN_IF_ERROR(F(a,\n  b));"),
                         ["\n;"])
        self.assertEqual(spoiled("if (f(a)) return g;"),
                         ["if (false) return g;"])
        self.assertEqual(spoiled("if (auto s = f(); s.ok()) {}"),
                         ["if (auto s = f(); false) {}"])
        self.assertEqual(described("if (f(a,\n  b)) return g;"),
                         ["if (f(a, b)) -> if (false)"])

    def test_left_alone(self):
        for text in ("static_assert(a == 1);", "// a + b\n",
                     '#if a == 1\n#endif\n', 'x = "a + b" + c;',
                     'x = c + "a + b";', "x = R\"(1 + 2)\";"):
            self.assertEqual(described(text), [], text)

    def test_the_number_of_lines_stays(self):
        text = "x = a +\n  b;\nif (p &&\n   q) return 1;\n"
        for result in spoiled(text):
            self.assertEqual(result.count("\n"), text.count("\n"))
            self.assertNotEqual(result, text)

    def test_what_cannot_be_taken_apart_is_refused(self):
        for text in ("x = 'abc\n", 'x = "abc\n'):
            with self.assertRaises(ValueError):
                mutation.faults(text)


if __name__ == "__main__":
    unittest.main()

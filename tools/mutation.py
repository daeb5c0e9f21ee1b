"""Single-token faults for C++ sources.

A small tokeniser and a list of mutation operators. It relies on the project's
clang-format style: a binary operator has a blank on each side, a unary one, a
reference, a pointer or a template bracket does not.

    for fault in mutation.faults(text):
        spoiled = fault.apply(text)         # the same number of lines

Left alone: comments, strings, preprocessor lines, static_assert, message
concatenations, and the ++ and -- of a for loop (which only make it endless).
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)
    | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"
        | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign><<=|>>=|\.\.\.|->\*|<=>|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\|
        |[-+*/%&|^]=|[^\s\w'"])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE)

SWAPPED_OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "^": "|",
}
SWAPPED_WORDS = {
    "true": "false", "false": "true", "min": "max", "max": "min",
    "Sin": "Cos", "Cos": "Sin", "floor": "ceil", "ceil": "floor",
    "break": "continue", "continue": "break",
    "min_element": "max_element", "max_element": "min_element",
}
# Operators that end the right operand of one that binds as tightly.
LOOSER = {
    "||": {"||"},
    "&&": {"||", "&&"},
    "+": {"||", "&&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "&", "|",
          "^", "+", "-"},
}
LOOSER["-"] = LOOSER["+"]
LOOSER["*"] = LOOSER["/"] = LOOSER["%"] = LOOSER["+"] | {"*", "/", "%"}
OPENING = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=",
               ">>="}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True)
class Fault:
    """Replaces text[start:end]; `what` says so in words."""
    start: int
    end: int
    replacement: str
    what: str

    def apply(self, text):
        lost = text.count("\n", self.start, self.end)
        return (text[:self.start] + self.replacement + "\n" * lost +
                text[self.end:])


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def tokens(text):
    """The tokens that mean something to the compiler. ValueError, with the
    line, where the text is none of these."""
    found = []
    position = 0
    for match in TOKEN.finditer(text):
        _check_blank(text, position, match.start())
        position = match.end()
        if match.lastgroup == "mark":
            kind = "string"
        else:
            kind = match.lastgroup
        if kind not in ("comment", "preprocessor"):
            found.append(Token(kind, match.group(), match.start()))
    _check_blank(text, position, len(text))
    return found


def _check_blank(text, start, end):
    if text[start:end].strip():
        raise ValueError(f"line {line_of(text, start)}: no token in "
                         f"{text[start:end].strip()!r}")


class _Source:
    """The text, its tokens, and questions about their surroundings."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens(text)
        self.partner = self._match_brackets()
        self.skipped = self._skipped_tokens()

    def _match_brackets(self):
        partner = {}
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in OPENING:
                stack.append(i)
            elif stack and token.text == OPENING[self.tokens[stack[-1]].text]:
                partner[i] = stack.pop()
                partner[partner[i]] = i
        return partner

    def _skipped_tokens(self):
        skipped = set()
        for i, token in enumerate(self.tokens):
            following = self.at(i + 1)
            if token.text == "static_assert" and following == "(":
                skipped.update(range(i, self.partner.get(i + 1, i) + 1))
            if token.text == "for" and following == "(":
                end = self.partner.get(i + 1, i)
                skipped.update(k for k in range(i, end)
                               if self.at(k) in ("++", "--"))
            if token.text == "operator":
                skipped.add(i + 1)
            # Pure virtual, deleted and defaulted functions.
            if token.text == "=" and following in ("0", "delete", "default"):
                if self.at(i + 2) == ";" and self.at(i - 1) in (
                        ")", "const", "override", "noexcept"):
                    skipped.add(i + 1)
        return skipped

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def is_binary(self, i):
        """Blanks on both sides, after an operand."""
        token = self.tokens[i]
        before = self.text[token.start - 1:token.start]
        after = self.text[token.end:token.end + 1]
        operand = i > 0 and (
            self.tokens[i - 1].kind in ("word", "number", "string",
                                        "character")
            or self.at(i - 1) in (")", "]", "}", ">"))
        return (before.isspace() and after.isspace() and operand and
                self.at(i - 1) not in ("template", "return", "case"))

    def joins_text(self, i):
        """Whether an operand is a string: the + of a message."""
        return any(0 <= k < len(self.tokens) and
                   self.tokens[k].kind == "string" for k in (i - 1, i + 1))

    def right_operand_end(self, i):
        """The position after the right operand of the binary operator i."""
        k = i + 1
        while k < len(self.tokens):
            text = self.at(k)
            if text in OPENING:
                if k not in self.partner:
                    return None
                k = self.partner[k] + 1
                continue
            if text in (")", "]", "}", ",", ";", "?", ":"):
                break
            if text in ASSIGNMENTS:
                return None
            if text in LOOSER[self.at(i)] and self.is_binary(k):
                break
            k += 1
        return self.tokens[k - 1].end if k > i + 1 else None


def _number_fault(token):
    """A neighbouring constant: 0 and 1 swapped, others moved by one."""
    text = token.text.replace("'", "")
    hexadecimal = text.lower().startswith("0x")
    if hexadecimal and "p" in text.lower():
        mantissa, exponent = re.split("[pP]", text)
        digits = re.match(r"[+-]?\d+", exponent).group()
        moved = int(digits) + 1
        return f"{mantissa}p{moved}{exponent[len(digits):]}"
    if not hexadecimal and re.search(r"[.eE]", text):
        digits = re.match(r"[\d.]+(?:[eE][+-]?\d+)?", text).group()
        value = float(digits)
        moved = {0.0: 1.0, 1.0: 0.0}.get(value, 2 * value)
        return repr(moved) + text[len(digits):]
    digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", text).group()
    value = int(digits, 16) if hexadecimal else int(digits)
    moved = {0: 1, 1: 0}.get(value, value + 1)
    written = f"{moved:#x}" if hexadecimal else str(moved)
    return written + text[len(digits):]


def _statement_faults(source, i):
    """Checks that are left out."""
    token = source.tokens[i]
    if (token.text in ("SOFTLOOKUP_RETURN_IF_ERROR", "SOFTLOOKUP_CHECK") and
            source.at(i + 1) == "("):
        end = source.partner.get(i + 1)
        if end is not None and source.at(end + 1) == ";":
            yield Fault(token.start, source.tokens[end].end, "",
                        f"removed {token.text}(...)")
    if token.text == "if" and source.at(i + 1) == "(":
        end = source.partner.get(i + 1)
        if end is None:
            return
        first = i + 2
        k = first
        while k < end:
            if k in source.partner:
                k = source.partner[k]
            elif source.at(k) == ";":
                first = k + 1
            k += 1
        condition = source.text[source.tokens[first].start:
                                source.tokens[end - 1].end]
        yield Fault(source.tokens[first].start, source.tokens[end - 1].end,
                    "false", f"if ({' '.join(condition.split())}) -> if "
                    "(false)")


def _token_faults(source, i):
    token = source.tokens[i]
    if token.kind == "number":
        replacement = _number_fault(token)
        yield Fault(token.start, token.end, replacement,
                    f"{token.text} -> {replacement}")
    elif token.kind == "word":
        if (token.text in SWAPPED_WORDS and
                source.at(i - 1) not in (".", "->")):
            replacement = SWAPPED_WORDS[token.text]
            yield Fault(token.start, token.end, replacement,
                        f"{token.text} -> {replacement}")
        if source.at(i - 1) == "[" and source.at(i + 1) == "]" and (
                i >= 2 and source.tokens[i - 2].kind == "word" and
                source.at(i - 2) not in ("auto", "delete", "return")):
            yield Fault(token.start, token.end, token.text + " + 1",
                        f"[{token.text}] -> [{token.text} + 1]")
        yield from _statement_faults(source, i)
    elif token.kind == "sign":
        if token.text in SWAPPED_OPERATORS and source.is_binary(i):
            if source.joins_text(i):
                return
            replacement = SWAPPED_OPERATORS[token.text]
            yield Fault(token.start, token.end, replacement,
                        f"'{token.text}' -> '{replacement}'")
            if token.text in LOOSER:
                end = source.right_operand_end(i)
                if end is not None:
                    operand = " ".join(
                        source.text[token.start:end].split())
                    yield Fault(token.start, end, "", f"dropped '{operand}'")
        elif token.text in ("++", "--"):
            replacement = "--" if token.text == "++" else "++"
            yield Fault(token.start, token.end, replacement,
                        f"'{token.text}' -> '{replacement}'")
        elif token.text == "!":
            yield Fault(token.start, token.end, "", "dropped '!'")
        elif token.text == "-" and not source.text[token.end].isspace():
            yield Fault(token.start, token.end, "", "dropped unary '-'")


def faults(text):
    """Every fault of the operators above, by position."""
    source = _Source(text)
    found = []
    for i in range(len(source.tokens)):
        if i not in source.skipped:
            found.extend(_token_faults(source, i))
    return found

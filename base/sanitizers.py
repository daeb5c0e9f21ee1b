"""Which sanitizer a program was built with: for tests that ask what the
sanitizer's runtime cannot do.

    @unittest.skipIf(sanitizer(PROGRAM) == "thread", "why")
"""

import re


def sanitizer(program):
    """"address", "thread" or None, from the symbols of the file `program`."""
    with open(program, "rb") as file:
        found = re.search(b"__([at]san)_init", file.read())
    return found and {b"asan": "address", b"tsan": "thread"}[found.group(1)]

"""An independent implementation of base/random/random.h's definitions.

Prints the expected values of random_test.cc. Python's standard library only:
integers for the words, 40-digit decimals for the normal variates.

    bazel run //base/random:random_test_values
"""

import decimal

decimal.getcontext().prec = 40
MASK = 0xFFFFFFFF
TWO_PI = decimal.Decimal("6.283185307179586476925286766559005768394338799")


def philox(counter, key):
    """Philox4x32-10 of Salmon et al. (2011)."""
    c = list(counter)
    k = list(key)
    for _ in range(10):
        a = 0xD2511F53 * c[0]
        b = 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK,
             (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def fnv1a(name):
    """64-bit FNV-1a of a name's UTF-8 bytes."""
    value = 0xCBF29CE484222325
    for byte in name.encode("utf-8"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def cosine(x):
    """The Taylor series: enough terms for |x| <= 2 pi at 40 digits."""
    term = total = decimal.Decimal(1)
    for n in range(1, 60):
        term *= -x * x / ((2 * n - 1) * (2 * n))
        total += term
    return total


class Stream:
    def __init__(self, seed, name, position=0):
        self.key = (seed & MASK, seed >> 32)
        self.stream = (fnv1a(name) & MASK, fnv1a(name) >> 32)
        self.position = position

    def word(self):
        block, index = divmod(self.position, 4)
        self.position += 1
        counter = (block & MASK, block >> 32, *self.stream)
        return philox(counter, self.key)[index]

    def uniform_53_bits(self):
        high = self.word()
        return (high << 32 | self.word()) >> 11

    def uniform_int(self, bound):
        """Lemire (2019): multiply, and reject the over-represented words."""
        while True:
            product = self.word() * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32

    def gaussian_pair(self):
        """Box and Muller (1958)."""
        one_minus_u = 1 - decimal.Decimal(self.uniform_53_bits()) / 2**53
        radius = (-2 * one_minus_u.ln()).sqrt()
        angle = TWO_PI * self.uniform_53_bits() / 2**53
        return radius * cosine(angle), radius * cosine(angle - TWO_PI / 4)

    def shuffle(self, items):
        """Fisher and Yates (1938), from the last place down."""
        for n in range(len(items), 1, -1):
            k = self.uniform_int(n)
            items[n - 1], items[k] = items[k], items[n - 1]
        return items


def show(title, values):
    print(f"{title}: " + ", ".join(values))


def main():
    for name in ("", "a", "init"):
        print(f"hash of {name!r}: {fnv1a(name):#x}")
    stream = Stream(1, "init")
    show("words of (1, init)", [f"{stream.word():#010x}" for _ in range(6)])
    stream = Stream(1, "data")
    show("words of (1, data)", [f"{stream.word():#010x}" for _ in range(2)])
    stream = Stream(0x123456789ABCDEF0, "注意力")
    show("words of (0x123456789abcdef0, 注意力)",
         [f"{stream.word():#010x}" for _ in range(2)])
    stream = Stream(1, "init", 4 * (2**32 + 5) + 3)
    show("words at 4 * (2^32 + 5) + 3",
         [f"{stream.word():#010x}" for _ in range(2)])
    stream = Stream(1, "init")
    show("uniform, in units of 2^-53",
         [str(stream.uniform_53_bits()) for _ in range(3)])
    stream = Stream(1, "init")
    show("gaussian", [f"{stream.gaussian_pair()[0]:.20f}" for _ in range(4)])
    stream = Stream(1, "init")
    show("fill gaussian", [f"{x:.20f}" for _ in range(3)
                           for x in stream.gaussian_pair()][:5])
    for bound in (10, 3 * 2**30, 2**32 - 1):
        stream = Stream(1, "init")
        values = [str(stream.uniform_int(bound)) for _ in range(12)]
        show(f"uniform int below {bound}, {stream.position} words", values)
    stream = Stream(1, "init")
    show("shuffle of 0 to 9", map(str, stream.shuffle(list(range(10)))))
    stream = Stream(1, "init")
    show("sign", [str(1 - 2 * (stream.word() >> 31)) for _ in range(12)])


if __name__ == "__main__":
    main()

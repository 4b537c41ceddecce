# SPDX-License-Identifier: BSD-3-Clause
"""Random requests for memcached_oracle_test.py."""

import random


class RandomRequests:
    """Nearly valid requests, in which some words are replaced, repeated or missing. No request
    announces more data than it contains, because memcached would wait. Numbers have separate keys,
    since no request may append to a number: it may be padded. Their sums stay below 2^63, since
    used memory may follow them (see Memcached in the test). No word makes an item expire within the
    run: the servers' seconds begin at different times."""

    TEXTS = [b"a", b"b", b"c", b"k" * 250]
    NUMBERS = [b"n", b"number-of-some-length"]
    WORDS = [b"0", b"10000", b"x", b"-1", b"noreply", b"v", b"q", b"k", b"n", b"99999", b"+30000",
             b"Oz", b"M", b"C5", b"k" * 249]
    GET_FLAGS = [b"v", b"f", b"t", b"s", b"k", b"c", b"Oo", b"q", b"T0", b"u", b"Px", b"Ly",
                 b"F3", b"MA", b"J4", b"D2", b"z"]
    SET_FLAGS = [b"c", b"k", b"Oo", b"q", b"F7", b"T0", b"ME", b"MR", b"MS", b"C{a}", b"C{n}",
                 b"C999999999", b"v", b"Px", b"z", b"Fx"]
    DELTA_FLAGS = [b"v", b"t", b"c", b"k", b"Oo", b"q", b"J9", b"D3", b"MD", b"M-", b"MI",
                   b"T0", b"C{n}", b"C999999999", b"Dx"]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def key(self):
        return self.random.choice(self.TEXTS + self.NUMBERS)

    def some(self, words):
        return self.random.sample(words, self.random.randrange(6))

    def number(self):
        return b"%d" % self.random.choice((0, 1, 9, 10, 99, 2**32, 2**40 - 1,
                                           self.random.getrandbits(40)))

    def value_of(self, key):
        return self.number() if key in self.NUMBERS else b"z" + bytes(
            self.random.choices(b" az09\r\n\x00\xff", k=self.random.randrange(30)))

    def get(self):
        keys = [self.key() for _ in range(self.random.randrange(1, 4))]
        command = self.random.choice((b"get", b"gets", b"gat", b"gats"))
        return [command] + ([b"0"] if command[:2] == b"ga" else []) + keys, b""

    def set(self):
        key = self.key()
        data = self.value_of(key)
        words = [b"set", b"add", b"replace", b"cas"]
        if key in self.TEXTS:
            words += [b"append", b"prepend"]
        words = [self.random.choice(words), key, self.number(), b"0", b"%d" % len(data)]
        if words[0] == b"cas":
            words.append(self.random.choice((b"{a}", b"{n}", b"999999999")))
        return words, data + b"\r\n"

    def meta_set(self):
        key = self.key()
        data = self.value_of(key)
        flags = self.SET_FLAGS + ([b"MA", b"MP"] if key in self.TEXTS else [])
        return [b"ms", key, b"%d" % len(data)] + self.some(flags), data + b"\r\n"

    def delta(self):
        return [self.random.choice((b"incr", b"decr")), self.key(), self.number()], b""

    def meta_delta(self):
        key = self.key()
        return [b"ma", key] + self.some(
            self.DELTA_FLAGS + ([b"N0"] * 3 if key in self.NUMBERS else [])), b""

    def meta_get(self):
        return [b"mg", self.key()] + self.some(self.GET_FLAGS), b""

    def rest(self):
        return self.random.choice((
            [b"delete", self.key()], [b"touch", self.key(), b"0"],
            [b"md", self.key()] + self.some([b"k", b"q", b"Oo", b"C999999999", b"T1", b"v"]))), b""

    def __call__(self):
        words, data = self.random.choice((self.get, self.set, self.set, self.meta_set, self.delta,
                                          self.meta_delta, self.meta_get, self.rest))()
        if self.random.random() < 0.15:
            words.append(b"noreply")
        if not data and self.random.random() < 0.2:
            place = self.random.randrange(len(words))
            words[place:place + 1] = self.random.choice(
                ([], [self.random.choice(self.WORDS)], [words[place]] * 2))
        return b" ".join(words) + b"\r\n" + data

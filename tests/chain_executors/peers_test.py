#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers_test.py STAGE_RUNNER [ABSENT...]: other programs read the output of stages, and stages read
theirs: gzip, openssl, cryptography, numpy. ABSENT names kinds of stages that this build lacks."""
import gzip
import importlib.util
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy

RUNNER, ABSENT = sys.argv[1], sys.argv[2:]
sys.argv[1:] = []
EXECUTORS = pathlib.Path(__file__).resolve().parents[2] / "apps" / "chain" / "executors"
KEY = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
DONE, REFUSED = 0, 1

_spec = importlib.util.spec_from_file_location("train_digits", EXECUTORS / "train_digits.py")
sys.dont_write_bytecode = True
train_digits = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(train_digits)


def stage(kind, options, command, messages):
    """Returns (outcome, refusal, key, result) of each message."""
    if kind in ABSENT:
        raise unittest.SkipTest(f"this build has no {kind}")
    packed = b"".join(struct.pack("<I", len(message)) + message for message in messages)
    done = subprocess.run([RUNNER, kind, options, str(command)], input=packed, check=False,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    ended, at = [], 0
    for _ in messages:
        outcome, refusal, key0, key1, length = struct.unpack_from("<BBIII", done.stdout, at)
        at += 14
        ended.append((outcome, refusal, (key0, key1), done.stdout[at:at + length]))
        at += length
    assert at == len(done.stdout)
    return ended


def results(kind, options, command, messages):
    ended = stage(kind, options, command, messages)
    assert all(one[0] == DONE for one in ended), ended
    return [one[3] for one in ended]


def tool(*command, text):
    return subprocess.run(command, input=text, check=True, capture_output=True, timeout=60).stdout


def texts():
    """Returns texts of many kinds and sizes."""
    noise = random.Random(1)
    return [b"", b"a", b"abc" * 1000, b"\x80", noise.randbytes(5000), bytes(65000),
            "".join(f"{i}: {i * i} is a square\n" for i in range(2000)).encode()]


class Compression(unittest.TestCase):
    def test_gzip_and_zlib_read_it(self):
        for level in ("1", "6", "9"):
            for plain, small in zip(texts(), results("deflate", f"level={level}", 1, texts())):
                self.assertEqual(tool("gzip", "-dc", text=small), plain)
                self.assertEqual(zlib.decompress(small, 31), plain)

    def test_it_reads_what_they_write(self):
        for level in (1, 9):
            small = [gzip.compress(plain, level) for plain in texts()]
            self.assertEqual(results("deflate", "", 2, small), texts())
        with tempfile.TemporaryDirectory() as folder:
            # The header contains a name.
            path = pathlib.Path(folder) / "named"
            path.write_bytes(texts()[-1])
            self.assertEqual(results("deflate", "", 2, [tool("gzip", "-c", str(path), text=None)]),
                             [texts()[-1]])


class Encryption(unittest.TestCase):
    def test_others_read_it_and_it_reads_theirs(self):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        for driver in ("crypto_openssl", "crypto_aesni_gcm", "crypto_aesni_mb"):
            options = f"key0={KEY},driver={driver}"
            sealed = results("aes_gcm", options, 2, texts())
            self.assertEqual(len({message[:12] for message in sealed}), len(sealed))
            for plain, message in zip(texts(), sealed):
                self.assertEqual(AESGCM(bytes.fromhex(KEY)).decrypt(message[:12], message[12:], None),
                                 plain)
            theirs = []
            for plain in texts():
                nonce = os.urandom(12)
                theirs.append(nonce + AESGCM(bytes.fromhex(KEY)).encrypt(nonce, plain, None))
            self.assertEqual(results("aes_gcm", options, 1, theirs), texts())

    def test_compressed_and_encrypted_openssl_and_gzip_read_it(self):
        small = results("deflate", "", 1, texts())
        for plain, message in zip(texts(), results("aes_gcm", f"key0={KEY}", 2, small)):
            opened = tool("openssl", "enc", "-d", "-aes-256-ctr", "-K", KEY, "-iv",
                          message[:12].hex() + "00000002", text=message[12:-16])
            self.assertEqual(tool("gzip", "-dc", text=opened), plain)


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with subprocess.Popen([RUNNER, "digits", "1", "4000"], stdout=subprocess.PIPE) as drawn:
            cls.labels, cls.images = train_digits.read(drawn.stdout)
        cls.weights, cls.bias, cls.scale = train_digits.train(cls.labels, cls.images)

    def test_the_weights_are_what_training_yields(self):
        made = train_digits.source(self.weights, self.bias, self.scale)
        self.assertEqual((EXECUTORS / "digit_weights.cc").read_text("utf-8"), made)

    def test_scores_are_those_that_numpy_computes(self):
        images = self.images[:300]
        known = train_digits.features(images).reshape(len(images), -1)
        scores = known @ self.weights.T + self.bias
        for image, expected, result in zip(
                images, scores, results("classify", "", 7, [image.tobytes() for image in images])):
            digit, _sure, zeros, *found = struct.unpack("<BBH10i", result)
            self.assertEqual(found, expected.tolist())
            self.assertEqual((digit, zeros), (int(numpy.argmax(expected)), 0))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the public members of engines against their contract, lib/packet/engine.h. The compiler
rejects a misspelt hook only if the hook is marked `override`. This test rejects every other public
member of an engine that is neither part of the contract nor listed here, for example a misspelt
constant."""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "lib/packet/engine.h"
FOLDERS = ["lib", "apps", "plugins", "examples"]

# The functions that process frames; an engine must have one of them.
PROCESSING = {"Process", "ProcessBurst"}
# Maps each engine to the public members that its owner uses.
LISTED = {
    "apps/maglev/fleet.h Worker": {"balancer"},
    "lib/engine/kv/server.h Server": {"responder"},
    "lib/engine/logmon/monitor.h Monitor": {
        "Finish", "counters", "memory_bytes", "scan_counters", "scanner", "sink", "sources", "tcp"},
    "lib/engine/maglev/balancer.h Balancer": {
        "connections", "counters", "epoch", "kHeadroomBytes", "seconds"},
    "lib/engine/messages/message_server.h MessageServer": {
        "Answer", "Expire", "HasMessage", "Receive", "SetOwn", "counts", "kMostMessages",
        "kNumberBits", "latency", "longest", "open"},
    "lib/engine/rpc/server.h Server": {"kMaxFrame", "kReasons"},
    "lib/engine/transport/tcp_host.h TcpHost": {"Create"},
    "lib/engine/telemetry/meter.h Meter": {"Closed", "Finish", "Release", "memory_bytes"},
}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# A class that derives directly from Engine or EngineLayer.
ENGINE = re.compile(r"\b(?:class|struct) (\w+)(?: final)?\s*:\s*(?:public )?(?:sluice::)?(?:packet::)?"
                    r"Engine(?:Layer<[^{;]*>)?\s*\{")
TYPE = re.compile(r"(?:template\s*<.*?>\s*)?(?:enum|struct|class|union|using|friend|static_assert)\b",
                  re.DOTALL)


def without_comments(text):
    return COMMENT_OR_TEXT.sub(lambda found: '""' if found[0][0] == '"' else " ", text)


def declarations(body, access):
    """Yields the public declarations of a class body: each up to its semicolon or its braces."""
    depth, start = 0, 0
    for at, character in enumerate(body):
        if depth == 0 and (label := re.match(r"(public|protected|private):", body[at:])):
            if body[start:at].strip() == "":
                access, start = label[1], at + len(label[0])
        if character == "{":
            if depth == 0:
                head = body[start:at]
            depth += 1
        elif character == "}":
            depth -= 1
            if depth < 0:
                return
            rest = body[at + 1:].lstrip()
            if depth == 0 and not rest.startswith((";", ",", "{", "(", ")")):
                if access == "public":
                    yield " ".join(head.split())
                start = at + 1
        elif character == ";" and depth == 0:
            declaration = " ".join(body[max(start, 0):at].split())
            if access == "public" and declaration:
                yield declaration
            start = at + 1


def name_of(declaration):
    """Returns the name that a declaration declares, or None for types, and for what the compiler
    checks: functions with `override`."""
    if TYPE.match(declaration) or re.search(r"\boverride\b", declaration):
        return None
    declaration = re.sub(r"^template <[^()]*?> (?=\S)", "", declaration)
    declaration = re.sub(r"\[\[.*?\]\]|decltype\(auto\)", "", declaration)
    found = re.search(r"(~?\b\w+)\s*(?:\(|\{|=|$)", declaration)
    return found[1] if found else None


def members(text, name, access):
    """Returns the public members of the class whose body begins `text`."""
    names = {name_of(declaration) for declaration in declarations(text, access)}
    return names - {None, name, "~" + name, "operator"}


def engines(path):
    text = without_comments(path.read_text(encoding="utf-8"))
    for found in ENGINE.finditer(text):
        access = "public" if found[0].startswith("struct") else "private"
        yield found[1], members(text[found.end():], found[1], access)


def class_members(name, omitted="override"):
    """Returns the public members of a class of the contract, except functions marked `omitted`."""
    text = without_comments(CONTRACT.read_text(encoding="utf-8"))
    found = re.search(rf"class {name}(?: : public Engine)? \{{", text)
    names = {name_of(re.sub(r"\boverride\b|\bvirtual\b", "", declaration).strip())
             for declaration in declarations(text[found.end():], "private")
             if not re.search(rf"\b{omitted}\b", declaration)}
    return names - {None, name}


def sources():
    listed = subprocess.run(["git", "ls-files", "-z", *FOLDERS], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in listed
            if name.endswith((".h", ".cc")) and (ROOT / name).is_file()]


class Engines(unittest.TestCase):
    def test_public_members_are_hooks_or_listed(self):
        contract = class_members("Engine", omitted="virtual") | PROCESSING
        self.assertLessEqual({"Generate", "kPollsPerRest", "own"}, contract)
        self.assertNotIn("AtRest", contract)
        seen = set()
        for path in sources():
            if path == CONTRACT:
                continue
            for name, found in engines(path):
                key = f"{path.relative_to(ROOT)} {name}"
                seen.add(key)
                self.assertEqual(found - contract, LISTED.get(key, set()),
                                 f"{key}: mark hooks `override`, or list other public members here")
        self.assertLessEqual(set(LISTED), seen)
        self.assertGreater(len(seen), 10)

    def test_a_layer_forwards_the_whole_contract(self):
        layer = class_members("EngineLayer", omitted="virtual")
        self.assertIn("AtRest", layer)
        self.assertEqual((class_members("Engine") | PROCESSING) - layer, set())

    def test_a_misspelt_member_is_found(self):
        text = """class A final : public packet::Engine {
          static constexpr bool kHidden = true;
         public:
          static constexpr bool kOwnFrameOnly = true;
          static constexpr std::array<std::string_view, 1> kDropReasons{"a"};
          enum Reason : uint8_t { kOne, kTwo };
          explicit A(int a) : Layer([&] { return a; }), a_{a}, b_(a) { Do(); }
          void AtRset(uint64_t now) { if (now) Do(); }
          void Enter() override {}
          template <packet::Burst B>
          [[gnu::always_inline]] void ProcesBurst(B& burst, uint64_t) requires Is<B> { Do(burst); }
          decltype(auto) own() const { return own_; }
          std::vector<int> seen;
         private:
          void Hidden();
        };"""
        found = next(ENGINE.finditer(text))
        self.assertEqual(members(text[found.end():], "A", "private"),
                         {"kOwnFrameOnly", "kDropReasons", "AtRset", "ProcesBurst", "own", "seen"})


if __name__ == "__main__":
    sys.exit(unittest.main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/mutate on snippets whose mutations were derived by hand: the mutations, the drawn
mutants, running tests and their outcomes, and the page."""
import collections
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "mutation"))

import coverage
import draw
import judge
import operators
import page
import programs
import sandbox
import tokens


def changed(text, operator=None):
    """Returns {operator: the sources that mutations make of `text`}."""
    found = collections.defaultdict(list)
    for site in operators.sites(text):
        found[site.operator].append(site.apply(text))
    return found if operator is None else found[operator]


class Tokens(unittest.TestCase):
    def texts(self, source):
        return [token.text for token in tokens.tokens(source)]

    def test_comments_and_preprocessor_lines_are_none(self):
        self.assertEqual(self.texts("a // b < c\n/* d\n e */ f\n#define G(h) \\\n  h + 1\n# if i\nj"),
                         ["a", "f", "j"])

    def test_literals_are_one_token(self):
        for text in ('"a < \\" b"', "'\\''", "'<'", 'R"x(a")" < b)x"', 'u8"c"', "1'000'000ull",
                     "0x1f'ffu", "1e-3", ".5f", "07'55"):
            self.assertEqual(self.texts(text + " + x"), [text, "+", "x"])

    def test_marks_are_as_long_as_they_can_be(self):
        self.assertEqual(self.texts("a<<=b>>c<=>d->e++&&!f::g[[h]]"),
                         ["a", "<<=", "b", ">>", "c", "<=>", "d", "->", "e", "++", "&&", "!", "f", "::",
                          "g", "[[", "h", "]]"])

    def test_lines_count_from_one_through_all_that_is_skipped(self):
        found = tokens.tokens('/* 1\n2 */ a\n// 3\n#x \\\ny\nR"(\n)" b')
        self.assertEqual([(token.text, token.line) for token in found][0::2], [("a", 2), ("b", 7)])

    def test_brackets_find_each_other(self):
        found = tokens.tokens("[[a]] b[c[d]] (e{f})")
        texts = [token.text for token in found]
        pairs = tokens.partners(found)
        self.assertEqual(pairs[texts.index("[[")], 2)
        self.assertEqual(pairs[texts.index("(")], len(texts) - 1)
        self.assertEqual(pairs[texts.index("{")], texts.index("}"))


class Operators(unittest.TestCase):
    def test_comparisons_are_inverted_and_boundaries_moved(self):
        for old, inverted, moved in (("<", ">=", "<="), ("<=", ">", "<"), (">", "<=", ">="),
                                     (">=", "<", ">"), ("==", "!=", None), ("!=", "==", None)):
            found = changed(f"x = a {old} b;")
            self.assertEqual(found["comparison"], [f"x = a {inverted} b;"])
            self.assertEqual(found["boundary"], [f"x = a {moved} b;"] if moved else [])

    def test_arithmetic(self):
        for old, new in (("+", "-"), ("-", "+"), ("*", "/"), ("/", "*"), ("%", "/"), ("&", "|"),
                         ("|", "&"), ("^", "|"), ("<<", ">>"), (">>", "<<")):
            self.assertEqual(changed(f"x = a {old} b;", "arithmetic"), [f"x = a {new} b;"])
            if old not in ("<<", ">>"):
                self.assertEqual(changed(f"a {old}= b;", "arithmetic"), [f"a {new}= b;"])
        self.assertEqual(changed("++a;", "arithmetic"), ["--a;"])
        self.assertEqual(changed("a--;", "arithmetic"), ["a++;"])

    def test_marks_that_are_no_operators_of_two_values_stay(self):
        for text in ("T* p = &a;", "T&& r = -b;", "std::vector<int> v;", "f<a>(*p);",
                     "template <typename T, int N>", "auto f = [&](int& a) {};", "p->x;", "x = \"a\" + b;",
                     "std::map<int, std::vector<int>> m;"):
            found = changed(text)
            self.assertEqual([*found["arithmetic"], *found["comparison"], *found["boundary"]], [], text)

    def test_constants_go_up_and_down(self):
        for old, expected in (("0", ["1"]), ("1", ["2", "0"]), ("7u", ["8u", "6u"]),
                              ("0x1f", ["0x20", "0x1e"]), ("0", ["1"]), ("1'000", ["1001", "999"]),
                              ("0644", ["0645", "0643"]), ("0.0", ["1.0"]), ("1e3", ["(1e3 * 2)"]),
                              ("2.5f", ["(2.5f * 2)"])):
            self.assertEqual(changed(f"x = {old};", "constant"), [f"x = {new};" for new in expected])

    def test_booleans(self):
        for old, expected in (
                ("if (a && b) c;", ["if (a || b) c;"]),
                ("if (!a) b;", ["if (a) b;"]),
                ("if (a) b;", ["if (!(a)) b;"]),
                ("while (f(a)) b;", ["while (!(f(a))) b;"]),
                ("if (auto* a = b) c;", []),
                ("if (a == b) c;", []),
                ("return true;", ["return false;"]),
                # Operands that would be grouped differently get parentheses.
                ("x = a && b && c;", ["x = a || (b && c);", "x = (a && b) || c;"]),
                ("x = a || (b && c);", ["x = a && (b && c);", "x = a || (b || c);"]),
                ("if (f(a, b) &&\n    c) d;", ["if (f(a, b) ||\n    c) d;"])):
            self.assertEqual(changed(old, "boolean"), expected)

    def test_statements_are_deleted_whole_and_leave_their_lines(self):
        for old, expected in (
                ("{ a = b; }", ["{ {} }"]),
                ("{ f(a,\n    b); }", ["{ {}\n }"]),
                ("if (a) b(c);", ["if (a) {}"]),
                ("if (a) b(); else c();", ["if (a) {} else c();", "if (a) b(); else {}"]),
                ("{ a.b->c[d] += e; }", ["{ {} }"]),
                ("{ ++a; b--; *c = d; }", ["{ {} b--; *c = d; }", "{ ++a; {} *c = d; }",
                                           "{ ++a; b--; {} }"]),
                ("{ std::f<A, B>(c); }", ["{ {} }"]),
                ("{ break; }", ["{ {} }"]), ("{ return; }", ["{ {} }"]),
                ("switch (a) { case 1: b(); }", ["switch (a) { case 1: {} }"]),
                ("{ x = c ? a : f(b); }", ["{ {} }"]),
                ("{ f([&] { a = b; }); }", ["{ {} }", "{ f([&] { {} }); }"])):
            self.assertEqual(changed(old, "deleted statement"), expected)

    def test_what_is_no_statement_that_can_go_stays(self):
        for text in ("{ int a = b; }", "{ T a(b); }", "{ auto& a = b; }", "{ T* a = b; }", "{ return a; }",
                     "{ for (a = 0; f(a); ++a) {} }", "{ using A = B; }", "{ delete a; }", "{ T f(int a); }",
                     "{ struct { int a; } b; }", "{ a * b; }"):
            self.assertEqual(changed(text, "deleted statement"), [], text)

    def test_what_cannot_run_or_is_nobodys_business_stays(self):
        for text in ("static_assert(a < 1);", "[[assume(a < 1)]]", "constexpr int kA = 1 + 2;",
                     "if constexpr (a < 1) {}", "Log(a, b + 1);", 'ENSO_LOG(ERR, "%d", a + 1);',
                     "assert(a < 1);", "rte_prefetch0(a + 1);", "alignas(64) char a;", "// a < 1\n",
                     "#define A 1 < 2\n", "f<1>(a);", 'f("1 < 2", \'1\');', "{ rte_prefetch0(a); }"):
            self.assertEqual(dict(changed(text)), {}, text)
        self.assertEqual(changed("switch (a) { case 1: return 2; }", "constant"),
                         [f"switch (a) {{ case 1: return {new}; }}" for new in "31"])

    def test_a_constexpr_function_runs(self):
        self.assertEqual(changed("constexpr int F(int a) { return a + b; }", "arithmetic"),
                         ["constexpr int F(int a) { return a - b; }"])


class Draw(unittest.TestCase):
    SOURCE = "int F(int a) {\n  a = a + 1;\n  if (a < 7) return 2;\n  a = a + 1;\n  return a;\n}\n"

    def drawn(self, source, seed=1, lines=range(100)):
        return [(m.path, m.site.line, m.change) for m in
                draw.mutants(seed, {"a.cc": source}, {"a.cc": lines}, lambda path, line: "F")]

    def test_one_for_each_line_that_can_have_one(self):
        self.assertEqual(sorted(line for _, line, _ in self.drawn(self.SOURCE)), [2, 3, 4])
        self.assertEqual([line for _, line, _ in self.drawn(self.SOURCE, lines=[3, 5])], [3])

    def test_the_seed_decides_alone(self):
        self.assertEqual(self.drawn(self.SOURCE), self.drawn(self.SOURCE))
        self.assertGreater(len({tuple(self.drawn(self.SOURCE, seed)) for seed in range(20)}), 5)

    def test_another_line_of_the_file_changes_nothing(self):
        moved = self.SOURCE.replace("int F", "int G() { return 5; }\n\nint F")
        kept = [(path, line - 2, change) for path, line, change in self.drawn(moved)
                if line > 2]
        self.assertEqual(kept, self.drawn(self.SOURCE))

    def test_a_change_reads_as_its_line(self):
        site = operators.sites("  if (a < 7 &&\n      b) return;  // c\n")[0]
        text = "  if (a < 7 &&\n      b) return;  // c\n"
        self.assertIn(draw.described(text, site), ("if (a [< → >=] 7 &&", "if (a [< → <=] 7 &&"))
        text = "{\n  f(a,\n    b);\n}"
        self.assertEqual(draw.described(text, operators.sites(text)[0]), "[f(a, b); → ]")


class Map(unittest.TestCase):
    def test_functions_have_the_names_that_readers_know(self):
        for demangled, name in (
                ("sluice::bar::(anonymous namespace)::Copy(void*)", "Copy"),
                ("void sluice::swap::Initiator<sluice::bar::Window<int> >::Offer(unsigned int)",
                 "Initiator::Offer"),
                ("sluice::kv::Partition::Get(int)::{lambda(auto:1)#1}::operator()(int) const",
                 "Partition::Get"),
                ("sluice::kv::Hash::operator()(long) const", "Hash::operator"),
                ("main", "main")):
            self.assertEqual(coverage.plain_name(demangled), name)

    def test_the_cheapest_program_comes_first_and_failed_ones_never(self):
        def run(name, seconds, lines, passed=True):
            return {"name": name, "passed": passed, "why": "", "seconds": seconds, "files": {
                "a.cc": {"hit": lines, "missed": [99], "functions": [["F", 1, 50], ["G", 5, 9]]}}}
        covered = coverage.Coverage([run("slow", 3.0, [5, 6]), run("fast", 1.0, [5]),
                                     run("broken", 0.1, [5], False)])
        self.assertEqual(covered.testing("a.cc", 5), ["fast", "slow"])
        self.assertEqual(covered.testing("a.cc", 6), ["slow"])
        self.assertEqual(covered.testing("a.cc", 99), [])
        self.assertEqual((covered.function_at("a.cc", 5), covered.function_at("a.cc", 10)), ("G", "F"))
        self.assertEqual(covered.executable["a.cc"], {5, 6, 99})


class Sandbox(unittest.TestCase):
    def test_the_end_of_a_test_is_read(self):
        for code, text, why in ((1, "[ RUN      ] A.B\n[  FAILED  ] A.B (1 ms)\n", "A.B"),
                                (1, "[  FAILED  ] X/A.B/3, where GetParam() = 7\n", "X/A.B/3"),
                                (1, "FAIL: test_x (__main__.T)\n", "test_x"), (134, "", "SIGABRT"),
                                (139, "", "SIGSEGV"), (152, "", "computes on"), (137, "", "computes on"),
                                (3, "", "exit 3"), (77, "", ""), (None, "", "waits"),
                                (0, "", "")):
            self.assertEqual(sandbox.reason(code, text), why)

    def test_programs_run_apart_and_within_limits(self):
        if not sandbox.is_possible():
            self.skipTest("no namespaces for this user")
        with tempfile.NamedTemporaryFile() as outside:
            for command, expected, limit_s in (
                    ("true", "", 60), ("exit 77", "", 60), ("exit 3", "exit 3", 60),
                    ("kill -s SEGV $$", "SIGSEGV", 60), ("while :; do :; done", "computes on", 60),
                    ("sleep 60", "waits", 0.5), (f"test ! -e {outside.name}", "", 60),
                    (f"test -e {ROOT}/meson.build", "", 60),
                    ("kill -s KILL -1; true", "", 60)):
                outcome = sandbox.run(["bash", "-c", command], "/", {}, 1, limit_s)
                self.assertEqual((outcome.passed, outcome.why), (not expected, expected), command)


class Judge(unittest.TestCase):
    """Verdicts about a mutant of one line and two programs."""

    def judged(self, built, digests, outcomes):
        asked = []
        def program(name):
            def run(*limits):
                asked.append(name)
                return sandbox.Outcome(*outcomes[name].pop(0), 0.1, 0.1)
            return types.SimpleNamespace(targets=[name], digest=lambda: digests[name], run=run)
        judging = judge.Judge.__new__(judge.Judge)
        judging._programs = {name: program(name) for name in ("a", "b")}
        judging._coverage = types.SimpleNamespace(
            testing=lambda path, line: ["fails as it is", "a", "b"])
        judging._normal = {"a": [1, 1], "b": [1, 1]}
        judging._digests = {"a": 1, "b": 1}
        old, judge.tree.build = judge.tree.build, lambda preset, targets, keep: built[targets[0]]
        try:
            mutant = types.SimpleNamespace(path="a.cc", site=types.SimpleNamespace(line=1))
            return judging._attack(mutant)[:2], asked
        finally:
            judge.tree.build = old

    def test_verdicts(self):
        fine, broken = (True, ""), (False, "x.cc:1: error: no")
        passes, fails, waits = (True, ""), (False, "A.B"), (False, "waits")
        for built, digests, outcomes, verdict, asked in (
                ({"a": fine, "b": fine}, {"a": 2, "b": 2}, {"a": [fails, fails]}, ("killed", "a"), "aa"),
                ({"a": fine, "b": fine}, {"a": 2, "b": 2}, {"a": [waits]}, ("killed", "a"), "a"),
                # A failure that cannot be repeated does not count.
                ({"a": fine, "b": fine}, {"a": 2, "b": 2}, {"a": [fails, passes], "b": [passes]},
                 ("survived", ""), "aab"),
                ({"a": fine, "b": fine}, {"a": 1, "b": 2}, {"b": [fails, fails]}, ("killed", "b"), "bb"),
                ({"a": fine, "b": fine}, {"a": 1, "b": 1}, {}, ("same object code", ""), ""),
                ({"a": broken, "b": fine}, {"a": 1, "b": 1}, {}, ("does not compile", "a"), "")):
            self.assertEqual(self.judged(built, digests, outcomes), (verdict, list(asked)))

    def test_the_compilers_first_error_is_told(self):
        self.assertEqual(judge.first_error("[1/2] c++\n x.cc:1: error: no\ny.cc:2: error: z"),
                         "x.cc:1: error: no")


class Page(unittest.TestCase):
    def result(self, verdict, change="a [| → &] b", operator="arithmetic"):
        return {"path": "lib/a.cc", "function": "F", "operator": operator, "change": change,
                "verdict": verdict}

    def test_the_share_is_of_those_that_a_test_could_kill(self):
        found = [self.result(verdict) for verdict in (judge.KILLED, judge.KILLED, judge.KILLED,
                                                      judge.SURVIVED, judge.NOT_COMPILED,
                                                      judge.SAME_CODE)]
        self.assertEqual(page.share(found), 75)
        self.assertEqual(page.share([]), 0)
        self.assertEqual(page.table(found)[-1], "| **all** | 3 | 1 | 1 | 1 |")
        self.assertIn("| arithmetic | 3 | 1 | 1 | 1 |", page.table(found))

    def test_judgements_stay_with_their_survivors(self):
        empty = "before\n" + page.BEGIN + page.END + "after\n"
        found = [self.result(judge.SURVIVED), self.result(judge.SURVIVED, "[x(); → ]"),
                 self.result(judge.KILLED, "c")]
        first = page.with_section(empty, page.section(7, found, "Facts.", page.judgements(empty)))
        self.assertEqual(first.count(page.NOT_JUDGED), 2)
        edited = first.replace("`[x(); → ]` | not judged", "`[x(); → ]` | speed: later")
        again = page.with_section(edited, page.section(7, found[:2], "Facts.", page.judgements(edited)))
        self.assertEqual(again.count(page.NOT_JUDGED), 1)
        self.assertIn("| `[x(); → ]` | speed: later |", again)
        self.assertTrue(again.startswith("before\n") and again.endswith("after\n"))

    def test_every_survivor_on_the_page_has_a_judgement(self):
        text = page.PAGE.read_text(encoding="utf-8")
        for kind in page.KINDS:
            self.assertIn(f"| `{kind}` |", text)
        listed = page.judgements(text)
        survived = int(page.re.search(r"^\| \*\*all\*\* \| \d+ \| (\d+)", text, page.re.M)[1])
        self.assertEqual(len(listed), survived)
        for key, said in listed.items():
            self.assertRegex(said, rf"^({'|'.join(page.KINDS)}): \S", key)


class Programs(unittest.TestCase):
    def test_linked_libraries_of_the_tree_count_and_others_do_not(self):
        self.assertEqual(programs.linked(pathlib.Path("/bin/sh")), [])


if __name__ == "__main__":
    unittest.main()

// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/x_compiler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "compiled.h"
#include "x_samples.h"

namespace sluice::rpc {
namespace {

using test::Compiled;

std::string ErrorOf(std::string_view text) {
  std::string error;
  const auto compiled = CompileX(text, "t.x", &error);
  return compiled ? "" : error;
}
const Type& TypeCalled(const CompiledX& x, const char* name) {
  return x.table.types[x.types.find(name)->second];
}
std::string StepsOf(const CompiledX& x, const char* name) {
  static const char* const kNames[] = {"end",    "words",  "longs", "bools",    "int8",   "uint8",
                                       "int16",  "uint16", "long",  "ulong",    "opaque", "each",
                                       "string", "bytes",  "array", "optional", "union",  "bool"};
  std::string text;
  for (const Step* step = &x.table.steps[TypeCalled(x, name).first_step];
       step->kind != StepKind::kEnd; ++step) {
    text += (text.empty() ? "" : " ") + std::string(kNames[static_cast<uint32_t>(step->kind)]) +
            "@" + std::to_string(step->at) + "*" + std::to_string(step->count);
  }
  return text;
}

TEST(XCompiler, SamplesCompileToSoundTables) {
  for (const std::string_view text : {test::kFileX, test::kPingX, test::kEverythingX}) {
    EXPECT_TRUE(Compiled(text).table.IsSound());
  }
}

// Sizes and offsets follow the System V ABI: numbers are aligned to their size, and pointers have 8
// bytes.
TEST(XCompiler, NeighboursAreOneStep) {
  const struct {
    const char* fields;
    const char* steps;
    uint32_t bytes, alignment, wire_bytes, words;
    bool straight, dense;
  } kCases[] = {
      {"int a; unsigned b; float c; int d[5];", "words@0*8", 32, 4, 32, 8, true, true},
      {"int a; hyper b; double c;", "words@0*1 longs@8*2", 24, 8, 20, 0, true, false},
      {"hyper a; int b;", "longs@0*1 words@8*1", 16, 8, 12, 0, true, false},
      {"bool a; bool b[2]; int c;", "bools@0*3 words@12*1", 16, 4, 16, 0, true, true},
      {"opaque a[8]; opaque b[4];", "opaque@0*12", 12, 1, 12, 0, true, true},
      {"opaque a[5]; opaque b[4]; int c;", "opaque@0*5 opaque@5*4 words@12*1", 16, 4, 16, 0, true,
       false},
      {"string s<9>; opaque o<7>; int v<5>; int *p;",
       "string@0*9 bytes@8*7 array@24*5 optional@40*1", 48, 8, 16, 0, false, false},
      {"char a; unsigned char b; short c[3]; u_short d; long e; unsigned long f[2];",
       "int8@0*1 uint8@1*1 int16@2*3 uint16@8*1 long@16*1 ulong@24*2", 40, 8, 36, 0, true, false},
      {"int8_t a[3]; char b;", "int8@0*4", 4, 1, 16, 0, true, true},
      {"string s<>; opaque o<>;", "string@0*4294967295 bytes@8*4294967295", 24, 8, 8, 0, false,
       false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.fields);
    const CompiledX x = Compiled(std::string("struct s {") + c.fields + "};");
    const Type& type = TypeCalled(x, "s");
    EXPECT_EQ(StepsOf(x, "s"), c.steps);
    EXPECT_EQ(type.bytes, c.bytes);
    EXPECT_EQ(type.alignment, c.alignment);
    EXPECT_EQ(type.wire_bytes, c.wire_bytes);
    EXPECT_EQ(type.words, c.words);
    EXPECT_EQ(type.straight, c.straight);
    EXPECT_EQ(type.dense, c.dense);
  }
}

TEST(XCompiler, StructuresInStructuresAreFlat) {
  const CompiledX x = Compiled(
      "struct p { int x; int y; }; typedef p square[4]; typedef square cube[2];"
      "struct odd { int a; hyper b; };"
      "struct s { int n; p one; cube many; odd pair[2]; odd alone[1]; };"
      "union u switch (int k) { case 1: hyper h; case 2: case 3: void; };");
  EXPECT_EQ(StepsOf(x, "s"), "words@0*19 each@80*2 words@112*1 longs@120*1");
  EXPECT_EQ(TypeCalled(x, "s").bytes, 128);
  EXPECT_EQ(TypeCalled(x, "cube").words, 16);
  EXPECT_EQ(StepsOf(x, "u"), "union@0*3");
  EXPECT_EQ(TypeCalled(x, "u").bytes, 16);
  EXPECT_TRUE(x.table.IsSound());
}

TEST(XCompiler, ProceduresAreFound) {
  const CompiledX x = Compiled(test::kPingX);
  const auto find = [&](uint32_t program, uint32_t version, uint32_t procedure) {
    return x.table.Find(program, version, procedure);
  };
  EXPECT_EQ(x.procedure_names[find(1, 2, 1).procedure], "PINGPROC_PINGBACK");
  EXPECT_EQ(x.procedure_names[find(1, 1, 0).procedure], "PINGPROC_NULL");
  const Procedure& pingback = x.table.procedures[find(1, 2, 1).procedure];
  EXPECT_EQ(pingback.arguments, kVoidType);
  EXPECT_EQ(x.table.types[pingback.result].words, 1);
  EXPECT_EQ(find(1, 1, 1).stat, AcceptStat::kProcUnavail);
  EXPECT_EQ(find(2, 1, 0).stat, AcceptStat::kProgUnavail);
  EXPECT_EQ(find(0, 1, 0).stat, AcceptStat::kProgUnavail);
  for (const uint32_t version : {0, 3}) {
    EXPECT_EQ(find(1, version, 0).stat, AcceptStat::kProgMismatch);
    EXPECT_EQ(find(1, version, 0).low, 1);
    EXPECT_EQ(find(1, version, 0).high, 2);
  }
  // Procedure 0 exists without a declaration. Several arguments are combined into one structure.
  const CompiledX all = Compiled(test::kEverythingX);
  const Lookup null = all.table.Find(0x20000001, 1, 0);
  EXPECT_EQ(null.stat, AcceptStat::kSuccess);
  EXPECT_EQ(all.procedure_names[null.procedure], "NULL");
  const Lookup add = all.table.Find(0x20000001, 1, 2);
  EXPECT_EQ(all.table.types[all.table.procedures[add.procedure].arguments].words, 5);
}

TEST(XCompiler, ErrorsSayWhereAndWhat) {
  const struct {
    const char* text;
    const char* error;
  } kCases[] = {
      {"int x;", "1:1: a definition expected, not 'int'"},
      {"struct s { int x }", "1:18: ';' expected, not '}'"},
      {"struct s {\n  int x;\n", "3:1: a name expected, not the end"},
      {"struct s { };", "1:12: a name expected, not '}'"},
      {"struct s { int int; };", "1:16: 'int' is a keyword: use another name"},
      {"struct s { void; };", "1:12: void cannot be the type of a field"},
      {"struct s { int x; hyper x; };", "1:19: duplicate field 'x'"},
      {"struct s { s x; };", "1:12: 's' contains itself: use a pointer"},
      {"struct a { b x[2]; }; struct b { a y; };", "1:34: 'a' contains itself: use a pointer"},
      {"typedef a b; typedef b a;", "1:22: 'b' contains itself: use a pointer"},
      {"union u switch (u x) { default: void; };", "1:24: 'case' expected, not 'default'"},
      {"union u switch (u x) { case 1: void; };", "1:17: 'u' contains itself: use a pointer"},
      {"struct s { t x; };", "1:12: undefined type 't'"},
      {"struct s { t *x; };", "1:12: undefined type 't'"},
      {"typedef int t; struct t { int x; };", "1:23: 't' is already defined in line 1"},
      {"enum e { A, A };", "1:13: 'A' is already defined in line 1"},
      {"enum e { A = 2147483647, B };", "1:26: 'B' has a value beyond 32 bits"},
      {"const c = 0x1ffffffff;",
       "1:11: a value from -2147483648 to 4294967295 expected, not "
       "8589934591"},
      {"const c = 99999999999999999999;", "1:11: this number is too large"},
      {"const c = 08;", "1:11: '08' is not a number"},
      {"const c = 1x;", "1:11: '1x' is not a number"},
      {"const c = d;", "1:11: undefined constant 'd' (--define=d=NUMBER defines it)"},
      {"%#include <a.h>\n%# include \"b.h\" // x\n%#include\n%int x;\nconst c = d;",
       "5:11: undefined constant 'd': declarations of <a.h>, \"b.h\" apply to C only "
       "(--define=d=NUMBER defines it)"},
      {"%#include <a.h>\nstruct s { t x; };",
       "2:12: undefined type 't': declarations of <a.h> apply to C only"},
      {"const c = \"abc\"; struct s { int x[c]; };",
       "1:35: undefined constant 'c' (--define=c=NUMBER defines it)"},
      {"const c = \"abc\n\";", "1:11: the closing quote of this text is missing"},
      {"struct a { int x; }; typedef a a[3];", "1:33: ';' expected, not '['"},
      {"struct s { int x[0]; };", "1:18: a value from 1 to 4294967295 expected, not 0"},
      {"struct s { int x[-1]; };", "1:18: a value from 1 to 4294967295 expected, not -1"},
      {"struct s { int x[]; };", "1:18: a number or a constant expected, not ']'"},
      {"struct s { hyper x[200000]; };", "1:12: 'x' is larger than 1 MiB"},
      {"struct s { int x[262144]; int y; };",
       "1:27: the type is larger than 1 MiB with the field 'y'"},
      {"struct s { opaque x; };", "1:20: '[' or '<' expected, not ';'"},
      {"struct s { string x[3]; };", "1:20: '<' expected, not '['"},
      {"struct s { string *x; };", "1:19: a name expected, not '*'"},
      {"struct s { int *x<3>; };", "1:18: ';' expected, not '<'"},
      {"struct s { quadruple x; };",
       "1:12: quadruple is not supported, since C has no portable type for it"},
      {"struct s { struct { int x; } y; };",
       "1:19: a definition inside another one: define the inner type by name first"},
      {"union u switch (float f) { case 1: void; };",
       "1:17: a union's discriminant must be int, unsigned, bool or enum"},
      {"union u switch (int f<>) { case 1: void; };",
       "1:17: a union's discriminant must be a single value"},
      {"union u switch (bool b) { case 2: void; };", "1:32: 2 is not a value of 'b'"},
      {"union u switch (unsigned b) { case -1: void; };", "1:36: -1 is not a value of 'b'"},
      {"enum e { A = 1 }; union u switch (e b) { case 2: void; };",
       "1:47: 2 is not a value of 'b'"},
      {"union u switch (int b) { case 2: void; case 2: int x; };", "1:45: duplicate case 2"},
      {"union u switch (int b) { case 2: int x; default: int x; };", "1:50: duplicate field 'x'"},
      {"program P { version V { void A(void) = 1; void B(void) = 1; } = 1; } = 1;",
       "1:58: duplicate procedure 1"},
      {"program P { version V { void A(void) = 1; void A(void) = 2; } = 1; } = 1;",
       "1:48: duplicate procedure 'A'"},
      {"program P { version V { void A(void) = 1; } = 1; version W { void A(void) = 1; } = 1; } "
       "= 1;",
       "1:84: duplicate version 1"},
      {"program P { version V { void A(int, void) = 1; } = 1; } = 1;",
       "1:37: void cannot be combined with other arguments"},
      {"program P { version V { opaque A(void) = 1; } = 1; } = 1;",
       "1:25: opaque needs a size: define a type by typedef"},
      {"program P { } = 1;", "1:13: 'version' expected, not '}'"},
      {"/* never", "1:1: the end of this comment is missing"},
      {"struct s { int x; }; @", "1:22: unexpected '@'"},
      {"\x01", "1:1: unexpected 0x01"},
      {"#include <x.h>\n", "1:1: a preprocessor directive: run the file through cpp -P first"},
  };
  for (const auto& c : kCases) EXPECT_EQ(ErrorOf(c.text), std::string("t.x:") + c.error) << c.text;
}

// Types that rpcgen expects in C headers, and libtirpc's definitions of them.
TEST(XCompiler, NamesOfTheHeadersAreKnown) {
  const struct {
    const char* type;
    const char* steps;
  } kCases[] = {
      {"u_int32_t", "words@0*1"}, {"u_int64_t", "longs@0*1"},       {"u_quad_t", "longs@0*1"},
      {"quad_t", "longs@0*1"},    {"u_char", "uint8@0*1"},          {"u_int8_t", "uint8@0*1"},
      {"uint8_t", "uint8@0*1"},   {"int16_t", "int16@0*1"},         {"u_int16_t", "uint16@0*1"},
      {"u_long", "ulong@0*1"},    {"unsigned short", "uint16@0*1"}, {"netobj", "bytes@0*1024"}};
  for (const auto& c : kCases) {
    EXPECT_EQ(StepsOf(Compiled("struct s { " + std::string(c.type) + " x; };"), "s"), c.steps)
        << c.type;
  }
  // A definition in the file has priority.
  EXPECT_EQ(StepsOf(Compiled("struct s { netobj x; }; typedef int netobj;"), "s"), "words@0*1");
  const CompiledX x = Compiled(
      "%#include <rpc/auth.h>\nunion u switch (unsigned f) { case AUTH_NONE: void; case AUTH_SYS: "
      "int x; case RPCSEC_GSS: hyper y; };");
  EXPECT_EQ(x.table.arms[1].value, 1u);
  EXPECT_EQ(x.table.arms[2].value, 6u);
  EXPECT_EQ(StepsOf(Compiled("enum f { AUTH_SYS = 9 }; struct s { int x[AUTH_SYS]; };"), "s"),
            "words@0*9");
}

TEST(XCompiler, WhatIsForCAloneIsAccepted) {
  EXPECT_EQ(ErrorOf("const NAME = \"abc; def\"; const OTHER = 1;"), "");
  EXPECT_EQ(ErrorOf("struct a { int x; }; typedef struct a a; typedef a a; struct b { a y; };"),
            "");
  EXPECT_EQ(ErrorOf("typedef union u u; union u switch (int k) { case 1: int x; };"), "");
}

TEST(XCompiler, ConstantsCanBeGiven) {
  std::string error;
  const auto constants = ReadConstants("SIZE=3,LEAST=-0x10", "--define", &error);
  ASSERT_TRUE(constants);
  EXPECT_EQ(*constants, (Constants{{"SIZE", 3}, {"LEAST", -16}}));
  const auto x = CompileX("struct s { int x[SIZE]; };", "t.x", &error, *constants);
  ASSERT_TRUE(x) << error;
  EXPECT_EQ(StepsOf(*x, "s"), "words@0*3");
  EXPECT_EQ(ReadConstants("", "--define", &error), Constants());
  for (const char* text :
       {"A", "A=", "A=B", "A=1 B=2", "1=1", "A=1,A=2", "A=1;", "int=1", "A=\"1\""}) {
    EXPECT_FALSE(ReadConstants(text, "--define", &error)) << text;
  }
}

// Files from Debian's libnsl-dev, without preprocessing.
TEST(XCompiler, PublicFilesCompile) {
  for (const char* name :
       {"klm_prot", "mount", "nfs_prot", "rex", "rquota", "sm_inter", "spray", "yppasswd"}) {
    std::ifstream file("/usr/include/rpcsvc/" + std::string(name) + ".x");
    if (!file) GTEST_SKIP() << "there are no public files";
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(ErrorOf(text), "") << name;
  }
}

TEST(XCompiler, SizesOfFilesHaveLimits) {
  EXPECT_EQ(ErrorOf(std::string(kMaxXBytes + 1, ' ')), "t.x:1:1: the file is longer than 1 MiB");
  EXPECT_EQ(ErrorOf("struct " + std::string(256, 's')),
            "t.x:1:8: a word is longer than 255 characters");
  const auto chain = [](int links) {
    std::string text = "struct s0 { int x; };";
    for (int i = 1; i < links; ++i) {
      const std::string before = "s" + std::to_string(i - 1);
      text += "struct s" + std::to_string(i) + " { " + before + " x; };";
    }
    return text;
  };
  // If the innermost type is defined first, every type is known when it is used. If the innermost
  // type is defined last, the types form a chain.
  EXPECT_EQ(ErrorOf(chain(1000)), "");
  std::string backwards = "struct r0 { int x; };";
  for (int i = 1; i < 70; ++i) {
    backwards.insert(0, "struct r" + std::to_string(i) + " { r" + std::to_string(i - 1) + " x; };");
  }
  EXPECT_EQ(ErrorOf(backwards).substr(ErrorOf(backwards).find(": ")),
            ": 'r5' is nested more than 64 definitions deep");
  std::string doubling = "struct d0 { int a; hyper b; };";
  for (int i = 1; i < 16; ++i) {
    const std::string before = "d" + std::to_string(i - 1);
    doubling += "struct d" + std::to_string(i) + " { " + before + " a; " + before + " b; };";
  }
  EXPECT_EQ(ErrorOf(doubling), "t.x:1:1: more than 16384 fields in all");
  std::string types;
  for (int i = 0; i < 5000; ++i) types += "typedef int t" + std::to_string(i) + ";";
  EXPECT_EQ(ErrorOf(types), "t.x:1:1: more than 4096 types in all");
}

}  // namespace
}  // namespace sluice::rpc

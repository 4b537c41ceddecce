// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of RFC 4506 section 6.3 and RFC 5531 section 12.2, to the extent described in
// docs/rpc.md.
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/x_reader.h"
#include "rpc/x_syntax.h"

namespace sluice::rpc {
namespace {

/// A libtirpc type: opaque <MAX_NETOBJ_SZ>, but with different field names.
constexpr std::string_view kNetObject = "netobj";
constexpr uint32_t kNetObjectBytes = 1024;

class Parser : XReader {
 public:
  Parser(Scanner& scanner, Syntax& syntax) : XReader(scanner), syntax_(syntax) {}

  bool Run(const Constants& constants) {
    AddConstants(constants);
    while (token().kind != Token::Kind::kEnd) ParseDefinition();
    if (uses_net_object_ && !syntax_.by_name.contains(std::string(kNetObject))) AddNetObject();
    return !failed();
  }
  bool RunConstants(Constants* constants) {
    while (token().kind != Token::Kind::kEnd) {
      const std::string name = ExpectNewName();
      Expect("=");
      constants->emplace(name, ExpectConstant());
      if (token().kind != Token::Kind::kEnd) Expect(",");
    }
    return !failed();
  }

 private:
  void ParseDefinition() {
    if (Accept("const")) return ParseConst();
    if (Accept("program")) return ParseProgram();
    using Kind = Definition::Kind;
    if (Accept("typedef")) return ParseTypedef();
    if (Accept("enum")) return ParseBody(Kind::kEnum);
    if (Accept("struct")) return ParseBody(Kind::kStruct);
    if (Accept("union")) return ParseBody(Kind::kUnion);
    FailExpecting("a definition");
  }

  void Add(Definition definition) {
    if (failed()) return;
    syntax_.by_name.emplace(definition.name, static_cast<uint32_t>(syntax_.definitions.size()));
    syntax_.definitions.push_back(std::move(definition));
  }

  void ParseConst() {
    const std::string name = ExpectNewName();
    Expect("=");
    if (token().kind == Token::Kind::kText) {
      Advance();  // Skips a text constant, which has no numeric value and is used only in C.
    } else {
      AddConstant(name, ExpectConstant());
    }
    Expect(";");
  }
  int64_t ExpectConstant() {
    return ExpectValue(std::numeric_limits<int32_t>::min(), std::numeric_limits<uint32_t>::max());
  }

  void AddNetObject() {
    Declaration declaration;
    declaration.base = Base::kOpaque;
    declaration.shape = Shape::kVariable;
    declaration.size = kNetObjectBytes;
    declaration.name = kNetObject;
    Add({.kind = Definition::Kind::kTypedef,
         .name = std::string(kNetObject),
         .position = {},
         .fields = {std::move(declaration)}});
  }

  void ParseTypedef() {
    // The declaration contains the name of the new type.
    const Position position = token().position;
    Declaration declaration = ParseDeclaration(true);
    std::string name = declaration.name;
    // C's `typedef struct a a;` does not define anything here.
    if (name == declaration.type) {
      Expect(";");
      return;
    }
    Add({.kind = Definition::Kind::kTypedef,
         .name = std::move(name),
         .position = position,
         .fields = {std::move(declaration)}});
    Expect(";");
  }

  void ParseBody(Definition::Kind kind) {
    Definition definition{.kind = kind, .name = {}, .position = token().position};
    definition.name = ExpectNewName();
    switch (kind) {
      case Definition::Kind::kEnum:
        ParseEnum(definition);
        break;
      case Definition::Kind::kStruct:
        ParseStruct(definition);
        break;
      default:
        ParseUnion(definition);
        break;
    }
    Add(std::move(definition));
    Expect(";");
  }

  /// A member without "= value" gets the previous member's value plus one, as in rpcgen.
  void ParseEnum(Definition& definition) {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    Expect("{");
    int64_t value = -1;
    do {
      const Position position = token().position;
      const std::string name = ExpectNewName();
      value = Accept("=") ? ExpectValue(kLeast, kMost) : value + 1;
      if (value > kMost) FailAt(position, "'" + name + "' has a value beyond 32 bits");
      AddConstant(name, value);
      definition.members.push_back(value);
    } while (Accept(","));
    Expect("}");
  }

  void ParseStruct(Definition& definition) {
    std::set<std::string> names;
    Expect("{");
    do {
      definition.fields.push_back(ParseField(names));
      Expect(";");
    } while (!failed() && !Is("}"));
    Expect("}");
  }

  void ParseUnion(Definition& definition) {
    Expect("switch");
    Expect("(");
    definition.fields.push_back(ParseDeclaration(false));
    if (definition.fields[0].shape != Shape::kPlain) {
      FailAt(definition.fields[0].position, "a union's discriminant must be a single value");
    }
    Expect(")");
    Expect("{");
    std::set<std::string> names;
    do {
      Expect("case");
      ParseCase(definition, names);
    } while (!failed() && Is("case"));
    if (Accept("default")) {
      Expect(":");
      definition.has_default = true;
      definition.cases.push_back({.values = {}, .body = ParseArm(names)});
    }
    Expect("}");
  }

  /// Parses a case, from after its first "case".
  void ParseCase(Definition& definition, std::set<std::string>& names) {
    Case arm;
    do {
      const Position position = token().position;
      arm.values.push_back(
          {ExpectValue(std::numeric_limits<int32_t>::min(), std::numeric_limits<uint32_t>::max()),
           position});
      Expect(":");
    } while (Accept("case"));
    arm.body = ParseArm(names);
    definition.cases.push_back(std::move(arm));
  }
  Declaration ParseArm(std::set<std::string>& names) {
    Declaration body;
    body.position = token().position;
    if (!Accept("void")) body = ParseField(names);
    Expect(";");
    return body;
  }

  /// Parses a declaration whose name must not be in `names`.
  Declaration ParseField(std::set<std::string>& names) {
    Declaration field = ParseDeclaration(false);
    if (!failed() && !names.insert(field.name).second) {
      FailAt(field.position, "duplicate field '" + field.name + "'");
    }
    return field;
  }

  /// Parses a "declaration" of RFC 4506 section 6.3, except void.
  Declaration ParseDeclaration(bool defines) {
    Declaration declaration = ParseType();
    if (declaration.base == Base::kVoid)
      FailAt(declaration.position, "void cannot be the type of a field");
    const bool bytes = declaration.base == Base::kString || declaration.base == Base::kOpaque;
    if (!bytes && Accept("*")) declaration.shape = Shape::kOptional;
    const bool own = declaration.shape == Shape::kPlain && Is(declaration.type);
    declaration.name = defines && !own ? ExpectNewName() : ExpectName();
    if (defines && own) return declaration;
    if (declaration.shape == Shape::kOptional) return declaration;
    if (declaration.base != Base::kString && Accept("[")) {
      declaration.shape = Shape::kFixed;
      declaration.size = ExpectUnsigned(1);
      Expect("]");
    } else if (Accept("<")) {
      declaration.shape = Shape::kVariable;
      if (!Is(">")) declaration.size = ExpectUnsigned();
      Expect(">");
    } else if (bytes) {
      FailExpecting(declaration.base == Base::kString ? "'<'" : "'[' or '<'");
    }
    return declaration;
  }

  /// Parses a "type-specifier" of RFC 4506 section 6.3, and also void, string and opaque.
  Declaration ParseType() {
    static const std::map<std::string_view, Base> kBases = {{"void", Base::kVoid},
                                                            {"int", Base::kInt},
                                                            {"hyper", Base::kHyper},
                                                            {"float", Base::kFloat},
                                                            {"double", Base::kDouble},
                                                            {"bool", Base::kBool},
                                                            {"string", Base::kString},
                                                            {"opaque", Base::kOpaque},
                                                            // C library names that rpcgen accepts.
                                                            {"char", Base::kInt8},
                                                            {"int8_t", Base::kInt8},
                                                            {"int16_t", Base::kInt16},
                                                            {"int32_t", Base::kInt},
                                                            {"int64_t", Base::kHyper},
                                                            {"long", Base::kLong},
                                                            {"quad_t", Base::kHyper},
                                                            {"short", Base::kInt16},
                                                            {"u_char", Base::kUint8},
                                                            {"u_int", Base::kUnsigned},
                                                            {"u_int8_t", Base::kUint8},
                                                            {"u_int16_t", Base::kUint16},
                                                            {"u_int32_t", Base::kUnsigned},
                                                            {"u_int64_t", Base::kHyper},
                                                            {"u_long", Base::kUnsignedLong},
                                                            {"u_quad_t", Base::kHyper},
                                                            {"u_short", Base::kUint16},
                                                            {"uint8_t", Base::kUint8},
                                                            {"uint16_t", Base::kUint16},
                                                            {"uint32_t", Base::kUnsigned},
                                                            {"uint64_t", Base::kHyper}};
    Declaration declaration;
    declaration.position = token().position;
    if (Accept("unsigned")) {
      declaration.base = ParseUnsigned();
      return declaration;
    }
    if (const auto found = kBases.find(token().text);
        found != kBases.end() && token().kind == Token::Kind::kWord) {
      declaration.base = found->second;
      Advance();
      return declaration;
    }
    if (Is("quadruple")) Fail("quadruple is not supported, since C has no portable type for it");
    const bool tagged = Accept("struct") || Accept("union") || Accept("enum");
    if (tagged && Is("{"))
      Fail("a definition inside another one: define the inner type by name first");
    declaration.base = Base::kNamed;
    declaration.type = ExpectName();
    uses_net_object_ |= declaration.type == kNetObject;
    return declaration;
  }
  /// Parses a type after "unsigned".
  Base ParseUnsigned() {
    if (Accept("hyper")) return Base::kHyper;
    if (Accept("char")) return Base::kUint8;
    if (Accept("short")) return Base::kUint16;
    if (Accept("long")) return Base::kUnsignedLong;
    Accept("int");
    return Base::kUnsigned;
  }

  void ParseProgram() {
    ExpectNewName();
    Expect("{");
    const size_t first = syntax_.procedures.size();
    std::set<uint32_t> versions;
    std::set<std::string> names;
    do {
      ParseVersion(versions, names);
    } while (!failed() && Is("version"));
    Expect("}");
    Expect("=");
    const Position position = token().position;
    const uint32_t program = ExpectUnsigned();
    if (!programs_.insert(program).second && !failed()) {
      FailAt(position, "duplicate program " + std::to_string(program));
    }
    for (size_t i = first; i < syntax_.procedures.size(); ++i) {
      syntax_.procedures[i].program = program;
    }
    Expect(";");
  }

  void ParseVersion(std::set<uint32_t>& versions, std::set<std::string>& version_names) {
    Expect("version");
    Position position = token().position;
    const std::string name = ExpectName();
    if (!version_names.insert(name).second && !failed()) {
      FailAt(position, "duplicate version '" + name + "'");
    }
    Expect("{");
    const size_t first = syntax_.procedures.size();
    std::set<uint32_t> numbers;
    std::set<std::string> names;
    do {
      ParseProcedure(numbers, names);
    } while (!failed() && !Is("}"));
    Expect("}");
    Expect("=");
    position = token().position;
    const uint32_t version = ExpectUnsigned();
    if (!versions.insert(version).second && !failed()) {
      FailAt(position, "duplicate version " + std::to_string(version));
    }
    for (size_t i = first; i < syntax_.procedures.size(); ++i) {
      syntax_.procedures[i].version = version;
    }
    Expect(";");
  }

  void ParseProcedure(std::set<uint32_t>& numbers, std::set<std::string>& names) {
    ProcedureDefinition procedure{};
    procedure.result = ParseProcedureType();
    Position position = token().position;
    procedure.name = ExpectName();
    if (!names.insert(procedure.name).second && !failed()) {
      FailAt(position, "duplicate procedure '" + procedure.name + "'");
    }
    Expect("(");
    do {
      procedure.arguments.push_back(ParseProcedureType());
      if (procedure.arguments.size() > 1 && procedure.arguments.back().base == Base::kVoid) {
        FailAt(procedure.arguments.back().position, "void cannot be combined with other arguments");
      }
    } while (procedure.arguments[0].base != Base::kVoid && Accept(","));
    Expect(")");
    Expect("=");
    position = token().position;
    procedure.number = ExpectUnsigned();
    if (!numbers.insert(procedure.number).second && !failed()) {
      FailAt(position, "duplicate procedure " + std::to_string(procedure.number));
    }
    Expect(";");
    syntax_.procedures.push_back(std::move(procedure));
  }
  /// Parses the type of an argument or result. As in rpcgen, a string cannot declare a limit here.
  Declaration ParseProcedureType() {
    Declaration declaration = ParseType();
    if (declaration.base == Base::kOpaque) {
      FailAt(declaration.position, "opaque needs a size: define a type by typedef");
    }
    if (declaration.base == Base::kString) declaration.shape = Shape::kVariable;
    return declaration;
  }

  Syntax& syntax_;
  std::set<uint32_t> programs_;
  bool uses_net_object_ = false;
};

}  // namespace

bool ParseX(Scanner& scanner, const Constants& constants, Syntax* syntax) {
  return Parser(scanner, *syntax).Run(constants);
}

bool ParseConstants(Scanner& scanner, Constants* constants) {
  Syntax none;
  return Parser(scanner, none).RunConstants(constants);
}

}  // namespace sluice::rpc

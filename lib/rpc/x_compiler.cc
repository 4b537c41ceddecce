// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/x_compiler.h"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "rpc/x_layout.h"
#include "rpc/x_scanner.h"
#include "rpc/x_syntax.h"

namespace sluice::rpc {
namespace {

/// Builds the table. A type gets its index on first use. Its steps are added later, in the order of
/// the indices, because types may refer to one another.
class Compiler {
 public:
  Compiler(const Syntax& syntax, Scanner& scanner, CompiledX& made)
      : syntax_(syntax), scanner_(scanner), layouts_(syntax, scanner), made_(made) {}

  bool Run() {
    AddType({}, {}, 0);  // kVoidType
    const auto definitions = static_cast<uint32_t>(syntax_.definitions.size());
    for (uint32_t i = 0; i < definitions && !scanner_.failed(); ++i) layouts_.Of(i);
    for (uint32_t i = 0; i < definitions && !scanner_.failed(); ++i) {
      made_.types.emplace(syntax_.definitions[i].name, TypeOfDefinition(i));
    }
    AddProcedures();
    while (!waiting_.empty() && !scanner_.failed()) WriteNextType();
    return !scanner_.failed();
  }

 private:
  /// A type whose steps have not been added yet.
  struct Waiting {
    std::vector<Declaration> fields;
    uint32_t at;  ///< Offset of the first field.
    uint32_t type;
  };

  bool Room(size_t size, uint32_t limit, const char* what) {
    return size < limit || scanner_.Fail({}, std::string("more than ") + std::to_string(limit) +
                                                 " " + what + " in all");
  }

  uint32_t AddType(std::vector<Declaration> fields, const Layout& layout, uint32_t at) {
    const auto type = static_cast<uint32_t>(made_.table.types.size());
    if (!Room(type, Limits::kMaxTypes, "types")) return kVoidType;
    made_.table.types.push_back({.bytes = static_cast<uint32_t>(layout.bytes),
                                 .alignment = layout.alignment,
                                 .wire_bytes = static_cast<uint32_t>(layout.wire_bytes)});
    waiting_.push_back({std::move(fields), at, type});
    return type;
  }
  uint32_t TypeOfDefinition(uint32_t definition) {
    const auto found = types_.find(definition);
    if (found != types_.end()) return found->second;
    Declaration itself;
    itself.base = Base::kNamed;
    itself.type = syntax_.definitions[definition].name;
    const uint32_t type = AddType({itself}, layouts_.Of(definition), 0);
    types_.emplace(definition, type);
    return type;
  }
  /// Returns the type of the declaration's elements or of its pointer's target.
  uint32_t TypeOfBase(const Declaration& declaration) {
    if (declaration.base == Base::kNamed) {
      const uint32_t definition = layouts_.Named(declaration);
      return scanner_.failed() ? kVoidType : TypeOfDefinition(definition);
    }
    const auto [at, added] = bases_.emplace(declaration.base, kVoidType);
    if (added) {
      Declaration plain;
      plain.base = declaration.base;
      at->second = AddType({plain}, layouts_.OfBase(declaration), 0);
    }
    return at->second;
  }
  uint32_t TypeOf(const Declaration& declaration) {
    if (declaration.base == Base::kVoid) return kVoidType;
    if (declaration.shape == Shape::kPlain) return TypeOfBase(declaration);
    return AddType({declaration}, layouts_.Of(declaration), 0);
  }

  void WriteNextType() {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    first_step_ = made_.table.steps.size();
    WriteFields(next.fields, next.at);
    if (!Append({})) return;
    Type& type = made_.table.types[next.type];
    type.first_step = static_cast<uint32_t>(first_step_);
    Summarize(type);
  }

  /// Computes a type's properties from its steps.
  void Summarize(Type& type) {
    uint64_t written = 0;
    for (const Step* step = &made_.table.steps[type.first_step]; step->kind != StepKind::kEnd;
         ++step) {
      type.straight &= IsStraight(step->kind);
      written += StraightBytes(step->kind, step->count);
      if (step->kind == StepKind::kWords && 4 * step->count == type.bytes) {
        type.words = step->count;
      }
    }
    type.dense = type.straight && written == type.bytes;
  }

  void WriteFields(const std::vector<Declaration>& fields, uint64_t at) {
    for (const Declaration& field : fields) {
      if (scanner_.failed()) return;
      const Layout layout = layouts_.Of(field);
      at = AlignedTo(at, layout.alignment);
      Write(field, static_cast<uint32_t>(at));
      at += layout.bytes;
    }
  }

  void Write(const Declaration& declaration, uint32_t at) {
    const Layout layout = layouts_.Of(declaration);
    const uint32_t size = declaration.size;
    if (layout.run != StepKind::kEnd) {
      Append({layout.run, at, layout.count});
    } else if (declaration.shape == Shape::kOptional) {
      Append({StepKind::kOptional, at, 1, TypeOfBase(declaration)});
    } else if (declaration.shape == Shape::kVariable) {
      if (declaration.base == Base::kString) {
        Append({StepKind::kString, at, size});
      } else if (declaration.base == Base::kOpaque) {
        Append({StepKind::kBytes, at, size});
      } else {
        Append({StepKind::kArray, at, size, TypeOfBase(declaration)});
      }
    } else if (declaration.base == Base::kOpaque) {
      Append({StepKind::kOpaque, at, size});
    } else if (declaration.shape == Shape::kFixed && size > 1) {
      Append({StepKind::kEach, at, size, TypeOfBase(declaration)});
    } else if (declaration.base == Base::kNamed) {
      WriteDefinition(layouts_.Named(declaration), at);
    }
  }

  void WriteDefinition(uint32_t index, uint32_t at) {
    const Definition& definition = syntax_.definitions[index];
    if (definition.kind != Definition::Kind::kUnion) return WriteFields(definition.fields, at);
    const auto [found, added] = arms_.emplace(index, std::pair<uint32_t, uint32_t>());
    if (added) found->second = AddArms(definition);
    const auto [first, count] = found->second;
    const bool is_bool = Resolved(definition.fields[0]).base == Base::kBool;
    Append({is_bool ? StepKind::kBoolUnion : StepKind::kUnion, at, count, first});
  }

  /// Returns the index of the first arm, and the number of arms without the default.
  std::pair<uint32_t, uint32_t> AddArms(const Definition& definition) {
    const auto [least, most, names] = DiscriminantOf(definition);
    Layout whole = layouts_.Of(syntax_.by_name.at(definition.name));
    const uint32_t at = layouts_.ArmsAt(definition);
    std::vector<Arm> arms;
    std::set<uint32_t> seen;
    uint32_t other = kNoType;
    for (const Case& arm : definition.cases) {
      uint32_t type = kVoidType;
      if (arm.body.base != Base::kVoid) {
        whole.wire_bytes = layouts_.Of(arm.body).wire_bytes;
        type = AddType({arm.body}, whole, at);
      }
      if (arm.values.empty()) other = type;
      for (const CaseValue& value : arm.values) {
        if (value.value < least || value.value > most ||
            (names != nullptr && std::ranges::count(*names, value.value) == 0)) {
          scanner_.Fail(value.position, std::to_string(value.value) + " is not a value of '" +
                                            definition.fields[0].name + "'");
        }
        const auto word = static_cast<uint32_t>(value.value);
        if (!seen.insert(word).second) {
          scanner_.Fail(value.position, "duplicate case " + std::to_string(value.value));
        }
        arms.push_back({word, type});
      }
    }
    const auto first = static_cast<uint32_t>(made_.table.arms.size());
    const auto count = static_cast<uint32_t>(arms.size());
    arms.push_back({0, other});
    if (!Room(first + count, Limits::kMaxArms, "cases")) return {0, 0};
    made_.table.arms.insert(made_.table.arms.end(), arms.begin(), arms.end());
    return {first, count};
  }

  /// Resolves typedefs.
  const Declaration& Resolved(const Declaration& declaration) {
    const Declaration* at = &declaration;
    while (at->base == Base::kNamed && at->shape == Shape::kPlain) {
      const Definition& definition = syntax_.definitions[layouts_.Named(*at)];
      if (definition.kind != Definition::Kind::kTypedef) break;
      at = &definition.fields[0];
    }
    return *at;
  }

  /// Valid values of a discriminant.
  struct Discriminant {
    int64_t least;
    int64_t most;
    const std::vector<int64_t>* names;  ///< Members of an enum; null for other types.
  };
  Discriminant DiscriminantOf(const Definition& definition) {
    const Declaration& declaration = Resolved(definition.fields[0]);
    if (declaration.shape == Shape::kPlain) {
      switch (declaration.base) {
        case Base::kInt:
          return {INT32_MIN, INT32_MAX, nullptr};
        case Base::kUnsigned:
          return {0, UINT32_MAX, nullptr};
        case Base::kBool:
          return {0, 1, nullptr};
        case Base::kNamed:
          if (const Definition& type = syntax_.definitions[layouts_.Named(declaration)];
              type.kind == Definition::Kind::kEnum) {
            return {INT32_MIN, INT32_MAX, &type.members};
          }
          break;
        default:
          break;
      }
    }
    scanner_.Fail(definition.fields[0].position,
                  "a union's discriminant must be int, unsigned, bool or enum");
    return {INT32_MIN, UINT32_MAX, nullptr};
  }

  /// Adds a step, or extends the previous step. Returns false after an error.
  bool Append(const Step& step) {
    std::vector<Step>& steps = made_.table.steps;
    if (steps.size() > first_step_ && IsStraight(step.kind) && steps.back().kind == step.kind) {
      Step& last = steps.back();
      const bool padded = step.kind == StepKind::kOpaque && last.count % 4 != 0;
      if (!padded && last.at + StraightBytes(last.kind, last.count) == step.at) {
        last.count += step.count;
        return true;
      }
    }
    if (!Room(steps.size(), Limits::kMaxSteps, "fields")) return false;
    steps.push_back(step);
    return true;
  }

  void AddProcedures() {
    struct Named {
      Procedure procedure;
      std::string name;
    };
    std::vector<Named> all;
    std::set<std::pair<uint32_t, uint32_t>> with_null, versions;
    for (const ProcedureDefinition& definition : syntax_.procedures) {
      if (scanner_.failed()) return;
      const std::pair version(definition.program, definition.version);
      versions.insert(version);
      if (definition.number == 0) with_null.insert(version);
      Procedure procedure{definition.program, definition.version, definition.number};
      const std::vector<Declaration>& arguments = definition.arguments;
      if (arguments.size() > 1 && made_.several_arguments.empty()) {
        made_.several_arguments = definition.name;
      }
      procedure.arguments = arguments.size() == 1 ? TypeOf(arguments[0])
                                                  : AddType(arguments, layouts_.Of(arguments), 0);
      procedure.result = TypeOf(definition.result);
      all.push_back({procedure, definition.name});
    }
    for (const auto& [program, version] : versions) {
      if (!with_null.contains({program, version})) all.push_back({{program, version}, "NULL"});
    }
    if (!Room(all.size(), Limits::kMaxProcedures, "procedures")) return;
    std::sort(all.begin(), all.end(), [](const Named& a, const Named& b) {
      return std::tie(a.procedure.program, a.procedure.version, a.procedure.number) <
             std::tie(b.procedure.program, b.procedure.version, b.procedure.number);
    });
    for (Named& named : all) {
      made_.table.procedures.push_back(named.procedure);
      made_.procedure_names.push_back(std::move(named.name));
    }
  }

  const Syntax& syntax_;
  Scanner& scanner_;
  Layouts layouts_;
  CompiledX& made_;
  std::deque<Waiting> waiting_;
  std::map<uint32_t, uint32_t> types_;  ///< Type indices, by definition.
  std::map<Base, uint32_t> bases_;
  /// First arm and number of arms, by union.
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> arms_;
  size_t first_step_ = 0;  ///< First step of the current type.
};

}  // namespace

std::optional<CompiledX> CompileX(std::string_view text, std::string_view file, std::string* error,
                                  const Constants& constants) {
  if (text.size() > kMaxXBytes) {
    *error = std::string(file) + ":1:1: the file is longer than 1 MiB";
    return std::nullopt;
  }
  Scanner scanner(text, file);
  Syntax syntax;
  CompiledX made;
  if (ParseX(scanner, constants, &syntax) && Compiler(syntax, scanner, made).Run()) return made;
  *error = scanner.error();
  return std::nullopt;
}

std::optional<Constants> ReadConstants(std::string_view text, std::string_view name,
                                       std::string* error) {
  Scanner scanner(text, name);
  Constants constants;
  if (ParseConstants(scanner, &constants)) return constants;
  *error = scanner.error();
  return std::nullopt;
}

}  // namespace sluice::rpc

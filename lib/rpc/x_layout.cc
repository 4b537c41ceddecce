// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/x_layout.h"

#include <algorithm>
#include <string>

namespace sluice::rpc {
namespace {

/// Maximum nesting of definitions.
constexpr uint32_t kMaxNesting = 64;

constexpr Layout kPointer = {.bytes = kPointerBytes, .alignment = 8, .wire_bytes = 4};
constexpr Layout kCounted = {.bytes = kCountedBytes, .alignment = 8, .wire_bytes = 4};

constexpr Layout Number(StepKind kind) {
  const auto bytes = static_cast<uint32_t>(StraightBytes(kind, 1));
  return {.bytes = bytes,
          .alignment = bytes,
          .wire_bytes = StraightWireBytes(kind, 1),
          .run = kind,
          .count = 1};
}

}  // namespace

uint32_t Layouts::Named(const Declaration& declaration) {
  const auto found = syntax_.by_name.find(declaration.type);
  if (found != syntax_.by_name.end()) return found->second;
  scanner_.Fail(declaration.position,
                "undefined type '" + declaration.type + "'" + scanner_.IncludeHint());
  return 0;
}

Layout Layouts::OfBase(const Declaration& declaration) {
  switch (declaration.base) {
    case Base::kVoid:
      return {};
    case Base::kInt:
    case Base::kUnsigned:
    case Base::kFloat:
      return Number(StepKind::kWords);
    case Base::kHyper:
    case Base::kDouble:
      return Number(StepKind::kLongs);
    case Base::kBool:
      return Number(StepKind::kBools);
    case Base::kInt8:
      return Number(StepKind::kInt8);
    case Base::kUint8:
      return Number(StepKind::kUint8);
    case Base::kInt16:
      return Number(StepKind::kInt16);
    case Base::kUint16:
      return Number(StepKind::kUint16);
    case Base::kLong:
      return Number(StepKind::kLong);
    case Base::kUnsignedLong:
      return Number(StepKind::kUnsignedLong);
    case Base::kString:
    case Base::kOpaque:
      return {.bytes = 1};
    case Base::kNamed:
      break;
  }
  const uint32_t definition = Named(declaration);
  if (scanner_.failed()) return {};
  if (known_[definition].state == Known::State::kUnderWay) {
    scanner_.Fail(declaration.position,
                  "'" + declaration.type + "' contains itself: use a pointer");
    return {};
  }
  return Of(definition);
}

Layout Layouts::Of(const Declaration& declaration) {
  const bool text = declaration.base == Base::kString;
  if (declaration.shape == Shape::kVariable) return text ? kPointer : kCounted;
  if (declaration.shape == Shape::kOptional) return kPointer;
  if (declaration.shape == Shape::kPlain) return OfBase(declaration);
  Layout layout = OfBase(declaration);
  layout.bytes *= declaration.size;
  if (layout.bytes > Limits::kMaxTypeBytes) {
    scanner_.Fail(declaration.position, "'" + declaration.name + "' is larger than 1 MiB");
    return {};
  }
  layout.wire_bytes *= declaration.size;
  if (declaration.base == Base::kOpaque) {
    layout.wire_bytes = Padded(declaration.size);
    // If the size needs padding, the value is not a straight run, because the wire contains more
    // bytes than the structure.
    if (declaration.size % 4 == 0) layout.run = StepKind::kOpaque, layout.count = declaration.size;
  } else {
    layout.count *= declaration.size;
  }
  return layout;
}

Layout Layouts::Of(const std::vector<Declaration>& fields) {
  Layout all;
  bool same = true;
  for (const Declaration& field : fields) {
    const Layout layout = Of(field);
    const uint64_t at = AlignedTo(all.bytes, layout.alignment);
    same &= layout.run != StepKind::kEnd && (all.count == 0 || layout.run == all.run);
    all.run = layout.run;
    all.count += layout.count;
    all.bytes = at + layout.bytes;
    all.wire_bytes += layout.wire_bytes;
    all.alignment = std::max(all.alignment, layout.alignment);
    if (all.bytes > Limits::kMaxTypeBytes) {
      scanner_.Fail(field.position,
                    "the type is larger than 1 MiB with the field '" + field.name + "'");
      return {};
    }
  }
  all.bytes = AlignedTo(all.bytes, all.alignment);
  if (!same) all.run = StepKind::kEnd, all.count = 0;
  return all;
}

uint32_t Layouts::ArmsAt(const Definition& definition) {
  uint32_t alignment = 1;
  for (const Case& arm : definition.cases) alignment = std::max(alignment, Of(arm.body).alignment);
  return static_cast<uint32_t>(AlignedTo(4, alignment));
}

Layout Layouts::OfUnion(const Definition& definition) {
  Of(definition.fields[0]);
  Layout all = {.alignment = 4, .wire_bytes = 4};
  for (const Case& arm : definition.cases) {
    const Layout layout = Of(arm.body);
    all.bytes = std::max(all.bytes, layout.bytes);
    all.alignment = std::max(all.alignment, layout.alignment);
  }
  all.bytes = AlignedTo(ArmsAt(definition) + all.bytes, all.alignment);
  if (all.bytes > Limits::kMaxTypeBytes) {
    scanner_.Fail(definition.position, "'" + definition.name + "' is larger than 1 MiB");
    return {};
  }
  return all;
}

Layout Layouts::Of(uint32_t index) {
  Known& known = known_[index];
  const Definition& definition = syntax_.definitions[index];
  if (known.state == Known::State::kYes || scanner_.failed()) return known.layout;
  if (depth_ == kMaxNesting) {
    scanner_.Fail(definition.position, "'" + definition.name + "' is nested more than " +
                                           std::to_string(kMaxNesting) + " definitions deep");
    return {};
  }
  ++depth_;
  known.state = Known::State::kUnderWay;
  switch (definition.kind) {
    case Definition::Kind::kEnum:
      known.layout = Number(StepKind::kWords);
      break;
    case Definition::Kind::kTypedef:
      known.layout = Of(definition.fields[0]);
      break;
    case Definition::Kind::kStruct:
      known.layout = Of(definition.fields);
      break;
    case Definition::Kind::kUnion:
      known.layout = OfUnion(definition);
      break;
  }
  known.state = Known::State::kYes;
  --depth_;
  return known.layout;
}

}  // namespace sluice::rpc

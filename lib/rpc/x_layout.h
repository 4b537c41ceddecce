// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes of what a `.x` file defines: in C, as rpcgen declares it and the x86-64 System V ABI lays
// it out, and on the wire.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/table.h"
#include "rpc/x_scanner.h"
#include "rpc/x_syntax.h"

namespace sluice::rpc {

/// Of a declaration or a definition.
struct Layout {
  uint64_t bytes = 0;       ///< At most Limits::kMaxTypeBytes.
  uint32_t alignment = 1;   ///< 1, 2, 4 or 8.
  uint64_t wire_bytes = 0;  ///< At least; all of them if it is straight.
  /// What it is if one straight step moves it all, any number of them behind one another, too.
  StepKind run = StepKind::kEnd;
  uint32_t count = 0;  ///< Of that step.
};

constexpr uint64_t AlignedTo(uint64_t at, uint32_t alignment) {
  return (at + alignment - 1) & ~uint64_t{alignment - 1};
}

/// Lays out what a parsed file declares. Errors go to the scanner.
class Layouts {
 public:
  /// Both outlive this.
  Layouts(const Syntax& syntax, Scanner& scanner)
      : syntax_(syntax), scanner_(scanner), known_(syntax.definitions.size()) {}

  /// Of a value as declared. After an error anything.
  Layout Of(const Declaration& declaration);
  /// Of what its elements are, or what it points to.
  Layout OfBase(const Declaration& declaration);
  /// Of a definition, by its index.
  Layout Of(uint32_t definition);
  /// Fields behind one another, as in a struct.
  Layout Of(const std::vector<Declaration>& fields);
  /// Where a union's arms begin, behind its discriminant.
  uint32_t ArmsAt(const Definition& definition);

  /// The definition that a kNamed declaration names; an error if there is none, and any then.
  uint32_t Named(const Declaration& declaration);

 private:
  struct Known {
    enum class State : uint8_t { kNo, kUnderWay, kYes } state = State::kNo;
    Layout layout;
  };

  Layout OfUnion(const Definition& definition);

  const Syntax& syntax_;
  Scanner& scanner_;
  std::vector<Known> known_;
  uint32_t depth_ = 0;
};

}  // namespace sluice::rpc

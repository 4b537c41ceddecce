// SPDX-License-Identifier: BSD-3-Clause
//
// Computes the sizes of a `.x` file's definitions on the wire and in C, as rpcgen declares them and
// the x86-64 System V ABI lays them out.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/table.h"
#include "rpc/x_scanner.h"
#include "rpc/x_syntax.h"

namespace sluice::rpc {

/// The layout of a declaration or definition.
struct Layout {
  uint64_t bytes = 0;       ///< sizeof in C, at most Limits::kMaxTypeBytes.
  uint32_t alignment = 1;   ///< 1, 2, 4 or 8.
  uint64_t wire_bytes = 0;  ///< Minimum size on the wire; exact if straight.
  /// The kind of the straight step that moves the whole value, or an array of these values, in one
  /// step. kEnd if there is no such step.
  StepKind run = StepKind::kEnd;
  uint32_t count = 0;  ///< `count` of that step.
};

constexpr uint64_t AlignedTo(uint64_t at, uint32_t alignment) {
  return (at + alignment - 1) & ~uint64_t{alignment - 1};
}

/// Computes the layouts of a parsed file. Errors are reported to the scanner.
class Layouts {
 public:
  /// `syntax` and `scanner` must outlive this object.
  Layouts(const Syntax& syntax, Scanner& scanner)
      : syntax_(syntax), scanner_(scanner), known_(syntax.definitions.size()) {}

  /// Returns the layout of a declared value; undefined after an error.
  Layout Of(const Declaration& declaration);
  /// Returns the layout of the declaration's elements or of its pointer's target.
  Layout OfBase(const Declaration& declaration);
  /// Returns the layout of the definition with this index.
  Layout Of(uint32_t definition);
  /// Returns the layout of consecutive fields, as in a struct.
  Layout Of(const std::vector<Declaration>& fields);
  /// Returns the offset of a union's arms, which follow its discriminant.
  uint32_t ArmsAt(const Definition& definition);

  /// Returns the index of the definition that a kNamed declaration refers to. If there is none,
  /// reports an error; the result is then undefined.
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

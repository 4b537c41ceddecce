// SPDX-License-Identifier: BSD-3-Clause
//
// The unit in which device models copy payload.
#pragma once

#include <cstdint>

namespace sluice::device {

/// A 32-byte block with no alignment requirement. The compiler copies it with a single instruction
/// if the target has 32-byte vectors. The packed struct removes the requirement for both gcc and
/// clang; clang ignores an attribute on the vector type itself.
struct [[gnu::packed, gnu::may_alias]] Block {
  using Vector __attribute__((vector_size(32))) = uint8_t;
  Vector bytes;
};
static_assert(sizeof(Block) == 32 && alignof(Block) == 1);

}  // namespace sluice::device

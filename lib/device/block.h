// SPDX-License-Identifier: BSD-3-Clause
//
// The unit in which device models move payload.
#pragma once

#include <cstdint>

namespace sluice::device {

/// 32 bytes at any address: one move where the target has vectors of that width. The
/// packed struct takes the alignment away for gcc and clang alike; an attribute on the
/// vector type itself is ignored by clang.
struct [[gnu::packed, gnu::may_alias]] Block {
  using Vector __attribute__((vector_size(32))) = uint8_t;
  Vector bytes;
};
static_assert(sizeof(Block) == 32 && alignof(Block) == 1);

}  // namespace sluice::device

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace sluice::engine::kv {

inline constexpr uint64_t kMiB = 1 << 20;  ///< Bytes.

}  // namespace sluice::engine::kv

// SPDX-License-Identifier: BSD-3-Clause
//
// Which nonces a key has encrypted with. With a nonce that is used twice, AES-GCM gives away what
// was encrypted and the means to forge (NIST SP 800-38D).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice::chain_app {

/// Of one key. Nonces are a fixed field and a counter (8.2.1 of SP 800-38D).
class NonceLedger {
 public:
  static constexpr size_t kFixedFields = 64;

  /// Whether the counter is above all that were taken with this fixed field; if so it is taken.
  /// False, too, for the 65th fixed field.
  bool Take(uint32_t fixed_field, uint64_t counter) {
    Row* const end = rows_.data() + used_;
    Row* const row = std::find_if(rows_.data(), end,
                                  [=](const Row& one) { return one.fixed_field == fixed_field; });
    if (row == end) {
      if (used_ == kFixedFields) return false;
      ++used_;
    } else if (counter <= row->counter) {
      return false;
    }
    *row = {fixed_field, counter};
    return true;
  }

 private:
  struct Row {
    uint32_t fixed_field = 0;
    uint64_t counter = 0;
  };
  std::array<Row, kFixedFields> rows_{};
  size_t used_ = 0;
};

}  // namespace sluice::chain_app

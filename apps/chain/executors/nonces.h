// SPDX-License-Identifier: BSD-3-Clause
//
// The nonces for AES-GCM encryption. Two messages with the same key and nonce reveal the XOR of
// their plaintexts and allow forgeries (NIST SP 800-38D).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace sluice::chain_app {

/// Nonces of SP 800-38D, 8.2.1: a fixed field of 8 bytes, which is drawn from the kernel's random
/// generator for each object, and a big-endian counter of 4 bytes. Each stage has a separate
/// object, and a restarted process creates a new one, so stages with the same key do not share
/// nonces. After 2^32 nonces, a new field is drawn. With 2^20 fields under one key, the probability
/// that two are equal is 2^-25.
class Nonces {
 public:
  static constexpr size_t kBytes = 12;

  /// Creates a source of nonces; `first` is the initial value of the counter.
  explicit Nonces(uint32_t first = 0) : count_(first) {}

  /// Writes a new nonce. Returns false if the kernel provides no random bytes.
  bool Next(std::span<uint8_t, kBytes> to) {
    if (!drawn_ && getentropy(field_.data(), field_.size()) != 0) return false;
    const uint32_t count = count_++;
    drawn_ = count_ != 0;
    std::ranges::copy(field_, to.begin());
    for (size_t i = 0; i < 4; ++i)
      to[field_.size() + i] = static_cast<uint8_t>(count >> (24 - 8 * i));
    return true;
  }

 private:
  std::array<uint8_t, 8> field_{};
  uint32_t count_;
  bool drawn_ = false;  ///< The field has been drawn for the current counter cycle.
};

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
//
// The nonces that AES-GCM encrypts with. Two messages with the same key and nonce reveal their
// plain text, and let others forge messages (NIST SP 800-38D).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace sluice::chain_app {

/// Nonces of SP 800-38D, 8.2.1: a fixed field of 8 bytes, which the kernel's random generator draws
/// for each object, and a counter of 4 bytes, big-endian. Each stage has an object of its own, and
/// a restarted process has a new one, so that stages with the same key do not share nonces.
/// After 2^32 nonces another field is drawn. With 2^20 fields under one key, the probability that
/// two are equal is 2^-25.
class Nonces {
 public:
  static constexpr size_t kBytes = 12;

  /// `first`: the counter's first value.
  explicit Nonces(uint32_t first = 0) : count_(first) {}

  /// Writes a nonce that was not used before. Returns false if the kernel gives no random bytes.
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
  bool drawn_ = false;  ///< The field, for this value of the counter.
};

}  // namespace sluice::chain_app

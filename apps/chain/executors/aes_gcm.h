// SPDX-License-Identifier: BSD-3-Clause
//
// AES-GCM by a cryptodev in software. An encrypted message is what SP 800-38D calls IV, ciphertext
// and tag, one behind the other. Its ciphertext is AES-CTR's with the first counter block
// IV || 00000002, so that `openssl enc -d -aes-256-ctr` reads it; only the tag needs more.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// Without cryptodev, `make` says so.
extern const StageKind kAesGcmStage;

inline constexpr uint32_t kGcmNonceBytes = 12;
inline constexpr uint32_t kGcmTagBytes = 16;
inline constexpr uint32_t kGcmOverhead = kGcmNonceBytes + kGcmTagBytes;

/// Bits 0 to 7 of a command: what to do. Bits 8 to 15: with which key. All others are 0.
inline constexpr uint32_t kGcmDecrypt = 1;
/// The stage draws the nonce itself (nonces.h).
inline constexpr uint32_t kGcmEncrypt = 2;
inline constexpr uint32_t kGcmKeyShift = 8;
inline constexpr uint32_t kGcmKeys = 4;

/// StageKind::refusals, by number.
enum class GcmRefusal : uint8_t {
  kTooShort,    ///< No room for nonce and tag.
  kTooLong,     ///< For the room of the result.
  kBadCommand,  ///< Nothing to do, or no such key.
  kForged,      ///< The tag is not that of these bytes.
};

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
//
// AES-GCM on a software cryptodev. An encrypted message consists of the IV, ciphertext and tag
// defined in SP 800-38D, in this order. Its ciphertext is that of AES-CTR with the first counter
// block IV || 00000002, so `openssl enc -d -aes-256-ctr` can decrypt it; only the tag requires GCM.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// If the program was built without cryptodev, `make` returns an error.
extern const StageKind kAesGcmStage;

inline constexpr uint32_t kGcmNonceBytes = 12;
inline constexpr uint32_t kGcmTagBytes = 16;
inline constexpr uint32_t kGcmOverhead = kGcmNonceBytes + kGcmTagBytes;

/// Bits 0 to 7 of a command select the operation, bits 8 to 15 the key. All other bits are 0.
inline constexpr uint32_t kGcmDecrypt = 1;
/// The stage generates the nonce (nonces.h).
inline constexpr uint32_t kGcmEncrypt = 2;
inline constexpr uint32_t kGcmKeyShift = 8;
inline constexpr uint32_t kGcmKeys = 4;

/// Indices into StageKind::refusals.
enum class GcmRefusal : uint8_t {
  kTooShort,    ///< Shorter than nonce and tag.
  kTooLong,     ///< Exceeds the output buffer or CipherDevice::kLongestText.
  kBadCommand,  ///< Invalid operation, or an empty key slot.
  kForged,      ///< The tag does not match these bytes.
};

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
//
// Compression by a compressdev in software. A compressed message is one member of gzip's format:
// what it holds can be checked, and gzip reads it.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// Without compressdev, `make` says so.
extern const StageKind kDeflateStage;

/// Commands.
inline constexpr uint32_t kDeflateCompress = 1;
inline constexpr uint32_t kDeflateDecompress = 2;

/// StageKind::refusals, by number.
enum class DeflateRefusal : uint8_t {
  kTooLong,  ///< For the room of the result, or more than a device takes at once.
  kBadCommand,
  kMalformed,  ///< Not one whole member.
  kChecksum,   ///< The member holds other bytes than its trailer says.
};

}  // namespace sluice::chain_app

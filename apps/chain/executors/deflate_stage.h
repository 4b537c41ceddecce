// SPDX-License-Identifier: BSD-3-Clause
//
// Compression with a software compressdev. A compressed message is one gzip member, which has a
// checksum and can be read by gzip.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// If the program was built without compressdev, `make` returns an error.
extern const StageKind kDeflateStage;

/// Values of a command.
inline constexpr uint32_t kDeflateCompress = 1;
inline constexpr uint32_t kDeflateDecompress = 2;

/// Indices into StageKind::refusals.
enum class DeflateRefusal : uint8_t {
  kTooLong,  ///< Exceeds the output buffer or the device's maximum size.
  kBadCommand,
  kMalformed,  ///< Not exactly one gzip member.
  kChecksum,   ///< The data does not match the member's trailer.
};

}  // namespace sluice::chain_app

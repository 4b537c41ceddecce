// SPDX-License-Identifier: BSD-3-Clause
//
// Compression by a software compressdev. A compressed message is one gzip member: its checksum can
// be verified, and gzip can read it.
#pragma once

#include <cstdint>

#include "../executor.h"

namespace sluice::chain_app {

/// If compressdev is missing, `make` returns an error.
extern const StageKind kDeflateStage;

/// Values of a command.
inline constexpr uint32_t kDeflateCompress = 1;
inline constexpr uint32_t kDeflateDecompress = 2;

/// Indices into StageKind::refusals.
enum class DeflateRefusal : uint8_t {
  kTooLong,  ///< Exceeds the output buffer or the maximum size of the device.
  kBadCommand,
  kMalformed,  ///< Not exactly one member.
  kChecksum,   ///< The data does not match the trailer of the member.
};

}  // namespace sluice::chain_app

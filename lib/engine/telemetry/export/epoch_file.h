// SPDX-License-Identifier: BSD-3-Clause
//
// A file that contains an epoch and all its counters. Epochs from several nodes can be merged
// exactly like those from several workers (Epoch::Merge), because sketches are sums. Little-endian:
//
//   header    "SLUICEEP", u32 version 3, u32 0, u64 bytes of the body, u64 XXH3 of the body
//   setup     u32 keys, for each u8 kind, u8 bits of IPv4, u8 bits of IPv6, u8 0; u32 sketch, u32
//             rows, u32 columns, u32 top_k, u32 exact_flows, u32 levels, u32 level_columns, u32
//             level_top_k, u32 pace, f64 probability, f64 full_rate_pps, u64 epoch_ns, f64
//             heavy_hitter_share, f64 change_share, f64 confidence, u32 oracle_one_in, u32
//             oracle_flows, u64 seed
//   epoch     u64 start, u64 end, both in ns since 1970, u32 workers, u32 longest_bytes,
//             u64 packets, u64 bytes, u64 exact_pkts, i64 other, f64 least, f64 last probability
//   counters  for each key: its table, its levels, then its oracle
//   table     u32 0 or 1: it counted all packets; u32 flows, each the 40 bytes of a
//             packet::FlowKey, u64 packets, u64 bytes, u32 0 or 1: it counted all of this flow's
//             packets
//   level     i64 packets and i64 bytes of each cell, row by row; u32 0 or 1: no flow was
//             rejected; u32 flows, each the 40 bytes of a packet::FlowKey, i64 count, i64 bytes,
//             u32 samples, u32 whole
//   oracle    u64 packets that it refused, u32 flows, each 40 bytes, u64 packets, u64 bytes
//
// Flows are sorted by the bytes of their keys. Equal epochs have equal files. The file contains the
// seed, with which an attacker can create colliding flows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/telemetry/epoch.h"

namespace sluice::engine::telemetry {

/// Times in ns since 1970.
struct EpochTimes {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

/// Maximum absolute value of a sketch's counter in a valid file; it corresponds to about 17 TB per
/// epoch. Sums over kMaxMergedEpochs epochs do not overflow.
inline constexpr int64_t kMaxCell = int64_t{1} << 52;
inline constexpr uint32_t kMaxMergedEpochs = 32;

/// Encodes an epoch. FlowCounter::Settle of all its counters must have been called.
std::string EncodeEpoch(const Epoch& epoch, const EpochTimes& times);

/// Decodes an untrusted file. In the result, cycles are ns since 1970, and the number is the start
/// divided by Setup::epoch_ns. If the file is invalid, returns null and writes one line to `error`.
/// Allocates no more memory than a meter with a valid setup and the flows in the file need, and
/// allocates sketches only if the file contains them.
std::unique_ptr<Epoch> DecodeEpoch(std::string_view file, std::string* error);

/// Returns the name of the first member that differs between two setups, so that their epochs
/// cannot be merged; empty if the setups are equal.
std::string_view Difference(const Setup& a, const Setup& b);

}  // namespace sluice::engine::telemetry

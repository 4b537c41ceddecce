// SPDX-License-Identifier: BSD-3-Clause
//
// An epoch with all its counters in a file, so that those of several nodes can be merged as those
// of several workers are (Epoch::Merge): exactly, for sketches are sums. Little-endian:
//
//   header    "SLUICEEP", u32 version 3, u32 0, u64 bytes of the body, u64 XXH3 of the body
//   setup     u32 keys, of each u8 kind, u8 bits of IPv4, u8 bits of IPv6, u8 0; u32 sketch, u32
//             rows, u32 columns, u32 top_k, u32 exact_flows, u32 levels, u32 level_columns, u32
//             level_top_k, u32 pace, f64 probability, f64 full_rate_pps, u64 epoch_ns, f64
//             heavy_hitter_share, f64 change_share, f64 confidence, u32 oracle_one_in, u32
//             oracle_flows, u64 seed
//   epoch     u64 start, u64 end, both in ns since 1970, u32 workers, u32 longest_bytes,
//             u64 packets, u64 bytes, u64 exact_pkts, i64 other, f64 least, f64 last probability
//   counters  of each key: its table, its levels, then its oracle
//   table     u32 0 or 1: it counted all packets; u32 flows, each the 40 bytes of a
//   packet::FlowKey,
//             u64 packets, u64 bytes, u32 0 or 1: it counted all of this flow's packets
//   level     i64 packets and i64 bytes of each cell, row by row; u32 0 or 1: no flow was ever
//             turned away; u32 flows, each the 40 bytes of a packet::FlowKey, i64 count, i64 bytes,
//             u32 samples, u32 whole
//   oracle    u64 packets that it refused, u32 flows, each 40 bytes, u64 packets, u64 bytes
//
// Flows rise by their bytes. Equal epochs make equal bytes. The seed is in it: whoever has it can
// make flows collide.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/telemetry/epoch.h"

namespace sluice::engine::telemetry {

/// Since 1970, in ns.
struct EpochTimes {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

/// A sketch's counter may have as much for the file to be readable: some 17 TB of an epoch. So
/// kMaxMergedEpochs of them do not overflow.
inline constexpr int64_t kMaxCell = int64_t{1} << 52;
inline constexpr uint32_t kMaxMergedEpochs = 32;

/// Settled counters.
std::string EncodeEpoch(const Epoch& epoch, const EpochTimes& times);

/// The epoch of a file, whose bytes may be anything: its cycles are ns since 1970, its number is
/// that of its start in epochs since 1970. Null, with one line in `error`, if it is none. Takes no
/// more memory than a meter of a setup that Setup::Error allows, and no sketches that the file has
/// not.
std::unique_ptr<Epoch> DecodeEpoch(std::string_view file, std::string* error);

/// The member in which two setups differ, whose epochs so cannot be merged; empty: in none.
std::string_view Difference(const Setup& a, const Setup& b);

}  // namespace sluice::engine::telemetry

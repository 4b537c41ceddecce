// SPDX-License-Identifier: BSD-3-Clause
//
// From the first flit of a frame to its pipe (docs/enso-hardware.md, "Steering"): key
// fields at fixed offsets, masked by protocol and SYN, then the flow table, then
// the fallback. Called by the receive path for every frame.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "device/enso/clocked.h"
#include "device/enso/flow_table.h"

namespace sluice::device::enso {

class Steering {
 public:
  /// Instead of a pipe: no entry matched and there are no fallback pipes.
  static constexpr uint32_t kNoPipe = regs::enso::kMaxPipes;
  /// Bytes of a frame that Target reads.
  static constexpr uint32_t kHeaderBytes = 48;

  explicit Steering(Clock& clock) : clock_(clock), cache_(kCacheEntries) {}

  bool InsertFlow(const FlowKey& key, uint32_t pipe);
  void SetFallback(uint32_t count, uint32_t mask, bool round_robin);

  /// The pipe of a frame of `length` bytes whose first kHeaderBytes stand at `header`.
  uint32_t Target(const uint8_t* header, uint32_t length);

 private:
  /// The masked key as it stands in the header, in network order.
  struct RawKey {
    uint64_t ips;    ///< Destination in the high half, source in the low.
    uint32_t ports;  ///< Destination in the high half, source in the low.
  };
  /// Remembers what the tables said about a key; every change of a table empties it.
  struct CacheEntry {
    uint64_t ips = 0;
    uint32_t ports = 0;
    uint32_t target = kUnknown;  ///< A pipe, or one of the values from kNoPipe on.
  };
  static constexpr uint32_t kCacheBits = 12;
  static constexpr uint32_t kCacheEntries = 1u << kCacheBits;
  static constexpr uint32_t kRoundRobin = kNoPipe + 1;
  static constexpr uint32_t kUnknown = kNoPipe + 2;

  static RawKey ExtractKey(const uint8_t* header);
  [[gnu::noinline]] uint32_t FillAndResolve(CacheEntry& entry, RawKey key, uint32_t length);
  uint32_t Lookup(RawKey key) const;
  void EmptyCache();

  Clock& clock_;
  FlowTable flows_;
  uint32_t fallback_count_ = 0;
  uint32_t fallback_mask_ = 0;
  bool round_robin_ = false;
  RoundRobin counter_;  ///< Steps whether or not it is used.
  std::vector<CacheEntry> cache_;
};

inline Steering::RawKey Steering::ExtractKey(const uint8_t* header) {
  // What of the fields is the key, by kind of protocol and SYN.
  struct Mask {
    uint64_t ips;
    uint64_t ports;
  };
  static constexpr Mask kIp = {0xffff'ffff'0000'0000, 0};
  static constexpr Mask kDestination = {0xffff'ffff'0000'0000, 0xffff'0000};
  static constexpr Mask kConnection = {~uint64_t{0}, 0xffff'ffff};
  static constexpr Mask kMasks[] = {kIp,          kIp,         kDestination,
                                    kDestination, kConnection, kDestination};
  static constexpr auto kKinds = [] {
    std::array<uint8_t, 256> kinds{};
    kinds[17] = 2;  // UDP
    kinds[6] = 4;   // TCP
    return kinds;
  }();
  constexpr uint32_t kProtocolAt = 23, kTcpFlagsAt = 47, kSynBit = 1;
  const uint32_t syn = header[kTcpFlagsAt] >> kSynBit & 1;
  const Mask& mask = kMasks[kKinds[header[kProtocolAt]] | syn];
  RawKey key;
  std::memcpy(&key.ips, header + 26, sizeof(key.ips));
  std::memcpy(&key.ports, header + 34, sizeof(key.ports));
  key.ips &= mask.ips;
  key.ports &= static_cast<uint32_t>(mask.ports);
  return key;
}

inline uint32_t Steering::Target(const uint8_t* header, uint32_t length) {
  const RawKey key = ExtractKey(header);
  const uint64_t mixed = (key.ips ^ uint64_t{key.ports} << 17) * 0x9e37'79b9'7f4a'7c15;
  CacheEntry& entry = cache_[mixed >> (64 - kCacheBits)];
  const uint32_t target = entry.target;
  if (entry.ips == key.ips && entry.ports == key.ports && target < kNoPipe) [[likely]] {
    return target;
  }
  return FillAndResolve(entry, key, length);
}

}  // namespace sluice::device::enso

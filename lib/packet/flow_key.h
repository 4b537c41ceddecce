// SPDX-License-Identifier: BSD-3-Clause
//
// The 5-tuple that identifies an IPv4 or IPv6 flow, as a hash-table key.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>

#include "packet/bytes.h"
#include "packet/parse.h"
#include "packet/rewrite.h"

namespace sluice::packet {

/// Equal flows have equal bytes: the struct has no padding, and unused bytes are 0.
struct FlowKey {
  Ipv6Address source{};  ///< An IPv4 address fills the first 4 bytes.
  Ipv6Address destination{};
  uint16_t source_port = 0;  ///< Host order; 0 unless UDP or TCP.
  uint16_t destination_port = 0;
  uint8_t protocol = 0;
  uint8_t ip_version = 0;  ///< 4 or 6.
  uint16_t reserved = 0;

  friend bool operator==(const FlowKey& a, const FlowKey& b) {
    uint64_t difference = 0;
    for (uint32_t i = 0; i < sizeof(FlowKey); i += 8) {
      difference |= Load<uint64_t>(reinterpret_cast<const uint8_t*>(&a) + i) ^
                    Load<uint64_t>(reinterpret_cast<const uint8_t*>(&b) + i);
    }
    return difference == 0;
  }

  /// Returns the key of a parsed packet, or nullopt if the packet is not IP or had a parse error.
  /// All fragments of a datagram, including the first, have the same key, with ports 0, because
  /// later fragments contain no ports.
  static std::optional<FlowKey> Of(const uint8_t* frame, const Headers& headers) {
    if (headers.error != ParseError::kNone || !headers.IsIp()) return std::nullopt;
    const uint8_t* ip = frame + headers.l3;
    FlowKey key;
    key.protocol = headers.protocol;
    if (headers.network == Network::kIpv4) {
      key.ip_version = 4;
      std::memcpy(key.source.data(), ip + 12, 4);
      std::memcpy(key.destination.data(), ip + 16, 4);
    } else {
      key.ip_version = 6;
      key.source = Load<Ipv6Address>(ip + 8);
      key.destination = Load<Ipv6Address>(ip + 24);
    }
    if (headers.HasPorts() && !headers.IsFragment()) {
      key.source_port = LoadBe16(frame + headers.l4);
      key.destination_port = LoadBe16(frame + headers.l4 + 2);
    }
    return key;
  }

  /// Returns the key of the opposite direction.
  FlowKey Reversed() const {
    FlowKey reversed = *this;
    std::swap(reversed.source, reversed.destination);
    std::swap(reversed.source_port, reversed.destination_port);
    return reversed;
  }
};
static_assert(sizeof(FlowKey) == 40 && std::has_unique_object_representations_v<FlowKey>);

/// The FlowKey of an IPv4 flow, packed into two words. Equal flows have equal words.
struct Ipv4Flow {
  uint64_t addresses;  ///< The 8 address bytes in the order of the header: source, destination.
  uint64_t ports;      ///< Source port | destination port << 16 | protocol << 32.

  /// `key` must be an IPv4 key.
  static Ipv4Flow Of(const FlowKey& key) {
    constexpr uint64_t kPortsAndProtocol = (uint64_t{1} << 40) - 1;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&key);
    return {Load<uint32_t>(bytes) | uint64_t{Load<uint32_t>(bytes + 16)} << 32,
            Load<uint64_t>(bytes + 32) & kPortsAndProtocol};
  }
  /// Returns the FlowKey that these words represent.
  FlowKey Key() const {
    FlowKey key;
    Write(&key);
    return key;
  }
  void Write(FlowKey* key) const {
    constexpr uint64_t kVersion = uint64_t{4} << 40;
    auto* const bytes = reinterpret_cast<uint8_t*>(key);
    Store(bytes, addresses & 0xffffffff);
    Store(bytes + 8, uint64_t{0});
    Store(bytes + 16, addresses >> 32);
    Store(bytes + 24, uint64_t{0});
    Store(bytes + 32, ports | kVersion);
  }
};

/// Multiplies to 128 bits and XORs the two halves, so that every bit of both words affects the
/// result.
inline uint64_t FoldProduct(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// Returns a 64-bit hash. Each word is mixed in by a 64×64→128-bit multiplication with an odd
/// constant. Keys come from the wire, so a table that clients can fill must pass a secret `seed`.
inline uint64_t HashFlowKey(const FlowKey& key, uint64_t seed = 0) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio.
  const auto* bytes = reinterpret_cast<const uint8_t*>(&key);
  uint64_t hash = seed ^ kMultiplier;
  for (uint32_t i = 0; i < sizeof(key); i += 8) {
    hash = FoldProduct(hash ^ Load<uint64_t>(bytes + i), kMultiplier);
  }
  return hash ^ hash >> 32;
}

/// Hashes a key for Abseil's containers, which use a per-process seed.
template <typename H>
H AbslHashValue(H state, const FlowKey& key) {
  return H::combine_contiguous(std::move(state), reinterpret_cast<const unsigned char*>(&key),
                               sizeof(key));
}

}  // namespace sluice::packet

template <>
struct std::hash<sluice::packet::FlowKey> {
  size_t operator()(const sluice::packet::FlowKey& key) const {
    return sluice::packet::HashFlowKey(key);
  }
};

// SPDX-License-Identifier: BSD-3-Clause
//
// Formats of messages between devices and the switch. All numbers are little-endian.
//
// A message is a 64-byte header followed by `length` bytes of data. A device writes the message to
// its window in TLPs of any size: the header at offset 0, then the data, in order. The device sets
// `message`, `length`, `flags` and `key`; the switch sets the other members for the receiving
// stage.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/switch/tlp.h"

namespace sluice::device::pcie_switch {

/// Unit of credits and alignment of messages.
inline constexpr uint32_t kGranule = 64;
constexpr uint32_t Granules(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kGranule - 1) / kGranule);
}

/// Rounds `bytes` up to whole granules.
constexpr uint64_t RoundUp(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

/// State of a stream at a stage; sent to the stage with every message.
using State = std::array<uint8_t, 32>;

/// Set by the switch: the message is incomplete and must be discarded.
inline constexpr uint32_t kMessageAborted = 1u << 0;

/// Header of a message.
struct MessageHeader {
  uint32_t stream = 0;
  uint32_t message = 0;  ///< Number assigned by the stream's first device.
  uint32_t length = 0;   ///< Length of the data after the header, in bytes.
  uint32_t flags = 0;
  uint32_t command = 0;           ///< Function that the stage must run.
  uint32_t node = 0;              ///< Number of the stage's node within the stream.
  std::array<uint32_t, 2> key{};  ///< Value that policies can match.
  State state{};
};
static_assert(sizeof(MessageHeader) == kGranule && std::is_trivially_copyable_v<MessageHeader>);

/// An entry of a legacy device's descriptor ring.
struct LegacyDescriptor {
  uint64_t input = 0;   ///< Address of the `length` input bytes.
  uint64_t output = 0;  ///< Address for the LegacyRecord, which the result follows.
  uint32_t length = 0;
  uint32_t capacity = 0;  ///< Maximum size of the result in bytes.
  uint32_t command = 0;
  uint32_t sequence = 0;
  State state{};
};
static_assert(sizeof(LegacyDescriptor) == kGranule);

/// Completion of a descriptor. A legacy device writes it before the result.
struct LegacyRecord {
  uint32_t sequence = 0;  ///< Sequence number of the descriptor.
  uint32_t status = 0;    ///< 0: done. Otherwise there is no result, and `length` is 0.
  uint32_t length = 0;    ///< Length of the result after the record, in bytes.
  uint32_t key = 0;       ///< First word of the message's key.
};
static_assert(sizeof(LegacyRecord) == 16);

/// Copy a structure from or to the first sizeof(Value) bytes of part of a TLP.
template <typename Value>
Value LoadFrom(const uint8_t* bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
template <typename Value>
void StoreTo(uint8_t* bytes, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::memcpy(bytes, &value, sizeof value);
}

/// Makes `out` a write of one value from a port.
template <typename Value>
void WriteValue(uint64_t address, PortId port, const Value& value, Tlp& out) {
  out.kind = TlpKind::kWrite;
  out.refused = false;
  out.requester = port;
  out.address = address;
  out.length = sizeof value;
  StoreTo(out.payload.data(), value);
}

}  // namespace sluice::device::pcie_switch

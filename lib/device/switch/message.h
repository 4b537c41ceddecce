// SPDX-License-Identifier: BSD-3-Clause
//
// What devices and the switch write to each other. All numbers are little-endian.
//
// A message is a line of 64 bytes and `length` bytes behind it. A device writes it to its window:
// the line at offset 0, the rest behind, in order, in TLPs of any sizes. It fills `message`,
// `length`, `flags` and `key`; the switch fills the rest for the stage that the message goes to.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sluice::device::pcie_switch {

/// Unit of credits and of the lines that messages begin at.
inline constexpr uint32_t kGranule = 64;
constexpr uint32_t Granules(uint64_t bytes) {
  return static_cast<uint32_t>((bytes + kGranule - 1) / kGranule);
}

/// `bytes` up to the end of their last granule.
constexpr uint64_t RoundUp(uint64_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

/// What is stored about a stream for a stage, and handed to it with every message.
using State = std::array<uint8_t, 32>;

inline constexpr uint32_t kMessageAborted = 1u << 0;  ///< By the switch: discard what has no end.

/// The first line of a message.
struct MessageHeader {
  uint32_t stream = 0;
  uint32_t message = 0;  ///< The number that the stream's first device gave it.
  uint32_t length = 0;   ///< Bytes behind this line.
  uint32_t flags = 0;
  uint32_t command = 0;           ///< Which function the stage is to run.
  uint32_t node = 0;              ///< Which of the stream's nodes the stage is.
  std::array<uint32_t, 2> key{};  ///< What policies look at.
  State state{};
};
static_assert(sizeof(MessageHeader) == kGranule && std::is_trivially_copyable_v<MessageHeader>);

/// What a legacy device fetches: an element of its descriptor ring.
struct LegacyDescriptor {
  uint64_t input = 0;   ///< Address to read `length` bytes from.
  uint64_t output = 0;  ///< Address to write a LegacyRecord to, and the result behind it.
  uint32_t length = 0;
  uint32_t capacity = 0;  ///< Bytes that the result may have.
  uint32_t command = 0;
  uint32_t sequence = 0;
  State state{};
};
static_assert(sizeof(LegacyDescriptor) == kGranule);

/// What a legacy device writes in front of its result: the completion of a descriptor.
struct LegacyRecord {
  uint32_t sequence = 0;  ///< The descriptor's.
  uint32_t status = 0;    ///< 0: done. Anything else: no result, and `length` is 0.
  uint32_t length = 0;    ///< Bytes behind the record.
  uint32_t key = 0;       ///< Becomes the first word of the message's key.
};
static_assert(sizeof(LegacyRecord) == 16);

/// Structures as the bytes of a TLP. `bytes` holds sizeof(Value).
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

}  // namespace sluice::device::pcie_switch

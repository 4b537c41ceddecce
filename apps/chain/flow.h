// SPDX-License-Identifier: BSD-3-Clause
//
// The interface through which the NIC of a chain gets a flow's messages and delivers their answers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sluice::chain_app {

/// Used by the NIC's thread.
class Flow {
 public:
  static constexpr uint32_t kNumberBits = 28;
  static constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;  ///< Mask of message numbers.

  virtual ~Flow() = default;
  /// Returns the maximum message size in bytes.
  virtual uint32_t longest() const = 0;
  /// Returns whether a message is available.
  virtual bool MayBegin() = 0;
  /// Writes the next message to `room`, which has longest() bytes, and its number to `number`.
  /// Returns the length of the message.
  virtual uint32_t Begin(std::span<uint8_t> room, uint64_t now_ns, uint32_t* number) = 0;
  /// Called for an answer. `where`: the NIC slot, less than 32, at which the answer arrived. Each
  /// node at which a chain ends has its own slot.
  virtual void Answer(uint32_t number, uint32_t where, std::span<const uint8_t> data,
                      const std::array<uint32_t, 2>& key, uint64_t now_ns) = 0;
  /// Counts messages that have waited too long as lost.
  virtual void Expire(uint64_t now_ns) = 0;
};

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
//
// What the NIC of a chain has to do with the messages of one flow: where they come from, and who
// gets the answers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sluice::chain_app {

/// One thread: the NIC's.
class Flow {
 public:
  static constexpr uint32_t kNumberBits = 28;
  static constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;  ///< Of numbers.

  virtual ~Flow() = default;
  /// Bytes that a message may have.
  virtual uint32_t longest() const = 0;
  /// Whether there is a message.
  virtual bool MayBegin() = 0;
  /// The next message: its bytes, in `room`, which has longest(), and its number.
  virtual uint32_t Begin(std::span<uint8_t> room, uint64_t now_ns, uint32_t* number) = 0;
  /// An answer by node `where`, below 32, of its chain.
  virtual void Answer(uint32_t number, uint32_t where, std::span<const uint8_t> data,
                      const std::array<uint32_t, 2>& key, uint64_t now_ns) = 0;
  /// What has waited too long is lost.
  virtual void Expire(uint64_t now_ns) = 0;
};

}  // namespace sluice::chain_app

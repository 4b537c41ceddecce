// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that arrive at a chain's NIC, and their expected answers. Messages are numbered from 0,
// and every stage preserves these numbers. A message and its answer depend only on the number, so
// messages are not stored.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::chain_app {

/// Used only by the NIC's thread.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// Writes message `number` and returns its length. `room` has TrafficOptions::max_message bytes.
  virtual uint32_t Write(uint64_t number, std::span<uint8_t> room) = 0;
  /// Returns whether `answer` is the right answer to message `number`. `key`: the key that the last
  /// stage set.
  virtual bool Right(uint64_t number, std::span<const uint8_t> answer,
                     const std::array<uint32_t, 2>& key) = 0;
  /// Returns false if a stage must refuse this message, for example because its tag is forged; any
  /// answer is then wrong.
  virtual bool Answered(uint64_t /*number*/) const { return true; }
};

struct TrafficOptions {
  std::string text;  ///< Options in --traffic after the colon: comma-separated key=value.
  uint64_t seed = 0;
  uint32_t max_message = 0;  ///< Maximum message size of the chain, in bytes.
};

struct TrafficKind {
  const char* name = nullptr;
  const char* what = nullptr;  ///< One line of help.
  /// Returns null and sets `error` if the options are wrong.
  std::unique_ptr<Traffic> (*make)(const TrafficOptions& options, std::string* error) = nullptr;
};

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives on a chain's NIC, and who knows the answers. Messages have numbers, from 0 on, which
// every stage keeps; both functions depend on the number alone, so that no message is stored.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::chain_app {

/// One thread: the NIC's.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// Writes message `number` and returns its bytes. `room` has TrafficOptions::max_message bytes.
  virtual uint32_t Write(uint64_t number, std::span<uint8_t> room) = 0;
  /// Whether this is the answer to message `number`. `key`: as the last stage left it.
  virtual bool Right(uint64_t number, std::span<const uint8_t> answer,
                     const std::array<uint32_t, 2>& key) = 0;
  /// False: a stage must refuse this message (its tag is forged, say); any answer is wrong.
  virtual bool Answered(uint64_t /*number*/) const { return true; }
};

struct TrafficOptions {
  std::string text;  ///< Of --traffic, behind the colon: key=value, by commas.
  uint64_t seed = 0;
  uint32_t max_message = 0;  ///< Bytes: of the chain.
};

struct TrafficKind {
  const char* name = nullptr;
  const char* what = nullptr;  ///< A line for people.
  /// Null, with one line in `error`: the options are wrong.
  std::unique_ptr<Traffic> (*make)(const TrafficOptions& options, std::string* error) = nullptr;
};

}  // namespace sluice::chain_app

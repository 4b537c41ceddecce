// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::emulator {

using MacAddress = std::array<uint8_t, 6>;

/// Options of the generator. Sizes include the 4-byte FCS, as in RFC 2544: size 64 is a frame of 60
/// bytes in memory.
struct GeneratorOptions {
  enum class Sizes { kList, kImix, kRandom };

  static constexpr uint32_t kMinSize = 64;
  static constexpr uint32_t kMaxSize = 9018;
  static constexpr uint32_t kMinTcpSize = 76;  ///< Headers, one free payload byte and the tag.
  static constexpr uint32_t kMaxFlows = 1u << 20;

  Sizes sizes = Sizes::kList;
  std::vector<uint32_t> list = {64};  ///< For kList; used in turn.
  uint32_t flows = 1000;
  double rate_pps = 0;        ///< 0: as fast as the device accepts frames.
  uint64_t count = 0;         ///< 0: unlimited.
  bool random_order = false;  ///< Sizes and flows are shuffled.
  bool tcp = false;
  uint64_t seed = 1;
  uint16_t run = 0;  ///< Stored in all tags, to detect frames from another run.
  MacAddress destination = {};

  /// Parses the text after "wire=gen:". If it is invalid, returns false and sets `error` to a
  /// one-line message.
  bool Read(std::string_view text, std::string* error);
};

}  // namespace sluice::emulator

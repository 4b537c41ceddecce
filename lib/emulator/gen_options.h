// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::emulator {

using MacAddress = std::array<uint8_t, 6>;

/// What the generator is asked for. Sizes count the 4-byte FCS, as RFC 2544 does:
/// size 64 is a frame of 60 bytes in memory.
struct GeneratorOptions {
  enum class Sizes { kList, kImix, kRandom };

  static constexpr uint32_t kMinSize = 64;
  static constexpr uint32_t kMaxSize = 9018;
  static constexpr uint32_t kMinTcpSize = 76;  ///< Headers, one free payload byte and the tag.
  static constexpr uint32_t kMaxFlows = 1u << 20;

  Sizes sizes = Sizes::kList;
  std::vector<uint32_t> list = {64};  ///< With kList: used in turn.
  uint32_t flows = 1000;
  double rate_pps = 0;        ///< 0: as fast as the device takes frames.
  uint64_t count = 0;         ///< 0: no end.
  bool random_order = false;  ///< Sizes and flows shuffled instead of in turn.
  bool tcp = false;
  uint64_t seed = 1;
  uint16_t run = 0;  ///< In all tags: frames of another run are foreign.
  MacAddress destination = {};

  /// Reads what follows "wire=gen:". False, with one line in `error`, if any of it is wrong.
  bool Read(std::string_view text, std::string* error);
};

}  // namespace sluice::emulator

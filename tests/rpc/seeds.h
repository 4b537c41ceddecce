// SPDX-License-Identifier: BSD-3-Clause
//
// Seeds for the fuzz targets of lib/rpc.
#pragma once

#include <random>
#include <vector>

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "rpc/frames.h"
#include "rpc/x_samples.h"

namespace sluice::test {

/// Frames with calls of kEverythingX, each preceded by a byte that requests correct checksums.
inline std::vector<Bytes> RpcCallSeeds() {
  std::vector<Bytes> seeds;
  for (const Bytes& frame : {kCall4, kCall6, kVlanCall4}) {
    for (const uint32_t procedure : {1, 2, 3, 4, 5}) {
      Bytes seed{1};
      seed.insert(seed.end(), frame.begin(), frame.end());
      uint8_t* const message = seed.data() + seed.size() - 44;
      packet::StoreBe32(message + 12, 0x20000001);
      packet::StoreBe32(message + 16, 1);
      packet::StoreBe32(message + 20, procedure);
      seeds.push_back(seed);
    }
  }
  return seeds;
}

/// Returns `.x` files, each followed by a 0 and by words to read as values.
inline std::vector<Bytes> RpcLanguageSeeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view text : {kFileX, kPingX, kEverythingX}) {
    Bytes seed(text.begin(), text.end());
    seed.resize(seed.size() + 1 + 64);
    seeds.push_back(seed);
  }
  return seeds;
}

/// Returns random modifications of a table, each followed by a value.
inline std::vector<Bytes> RpcTableSeeds() {
  std::mt19937_64 random(6);
  std::vector<Bytes> seeds(16, Bytes(128));
  for (Bytes& seed : seeds) {
    for (size_t i = 0; i < seed.size(); ++i) {
      seed[i] = static_cast<uint8_t>(i < 16 || i % 4 == 3 ? random() % 4 : 0);
    }
  }
  return seeds;
}

}  // namespace sluice::test

// SPDX-License-Identifier: BSD-3-Clause
//
// The network of digit_network.h as oneDNN primitives, for a fixed number of images.
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <unordered_map>
#include <vector>

#include "digit_network.h"

namespace sluice::chain_app {

/// Used by one thread; computes on that thread only. Throws dnnl::error.
class OneDnnNetwork {
 public:
  OneDnnNetwork(const dnnl::engine& engine, uint32_t images);

  uint32_t images() const { return images_; }
  /// Returns the buffer of an image, for its pixels divided by kPixelStep.
  std::span<float> Pixels(uint32_t image);
  /// Computes the scores of all images.
  void Run(dnnl::stream& stream);
  Scores ScoresOf(uint32_t image) const;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  uint32_t images_;
  dnnl::memory pixels_;
  dnnl::memory scores_;
  std::vector<Step> steps_;
};

}  // namespace sluice::chain_app

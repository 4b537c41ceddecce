// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for both ends of a link or an endpoint in one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace sluice::simulation {

/// Whole zeroed pages.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(kPage, bytes_)));
    std::fill_n(memory_.get(), bytes_, uint8_t{0});
  }
  std::span<uint8_t> span() const { return {memory_.get(), bytes_}; }

 private:
  static constexpr size_t kPage = 4096;
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t, Free> memory_;
};

}  // namespace sluice::simulation

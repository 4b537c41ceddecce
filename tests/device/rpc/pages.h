// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for endpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

namespace sluice::device::rpc::test {

/// Zeroed memory, aligned to 4096 bytes.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : bytes_((bytes + 4095) / 4096 * 4096),
        memory_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes_)), std::free) {
    std::memset(memory_.get(), 0, bytes_);
  }
  std::span<uint8_t> span() { return {memory_.get(), bytes_}; }

 private:
  size_t bytes_;
  std::unique_ptr<uint8_t, void (*)(void*)> memory_;
};

}  // namespace sluice::device::rpc::test

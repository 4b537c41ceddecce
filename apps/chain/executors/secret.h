// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for keys on separate pages, which are excluded from core dumps and zeroed on destruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::chain_app {

class Secret {
 public:
  /// Allocates `bytes` > 0 zeroed bytes. Throws std::bad_alloc.
  explicit Secret(size_t bytes);
  ~Secret();
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  std::span<uint8_t> bytes() { return bytes_; }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::span<uint8_t> bytes_;
};

/// Excludes the pages that contain `memory`, including any other data on them, from core dumps.
/// `page_bytes`: page size, a power of two.
void ExcludeFromDumps(std::span<uint8_t> memory, size_t page_bytes);

}  // namespace sluice::chain_app

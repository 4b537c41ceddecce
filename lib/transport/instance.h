// SPDX-License-Identifier: BSD-3-Clause
//
// A private copy of the library that contains lwIP.
#pragma once

#include <memory>
#include <string>

#include "transport/lwip/library.h"

namespace sluice::transport {

/// Load loads the library, and the destructor unloads it. The library is embedded in this program.
/// Each copy is written to a new unnamed file, because the dynamic linker loads a file only once.
/// It also loads a path only once, so the file stays open to keep its descriptor number, and thus
/// its path, unique.
class Instance {
 public:
  /// Returns whether this build contains lwIP.
  static bool Available();
  /// On failure returns null and sets `error` to one line.
  static std::unique_ptr<Instance> Load(std::string* error);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const tcp_library& tcp() const { return *tcp_; }

 private:
  Instance() = default;

  // Unused in a build without lwIP.
  [[maybe_unused]] int file_ = -1;
  [[maybe_unused]] void* handle_ = nullptr;
  const tcp_library* tcp_ = nullptr;
};

}  // namespace sluice::transport

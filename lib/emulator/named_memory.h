// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that hosts have named. It outlives its host until it is unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "emulator/channel.h"

namespace sluice::emulator {

/// A table of named memory. Used by one thread.
class NamedMemory {
 public:
  struct Entry {
    base::OwnedFd file;
    uint64_t bytes = 0;
    bool mirrored = false;
    uint64_t bus = 0;    ///< Bus address in the attached host; 0: not mapped.
    uint64_t order = 0;  ///< Increases with each Keep.
  };
  static constexpr size_t kMaxNames = 64;

  /// Returns null, or the reason why the attached host may not use that name.
  const char* WhyNot(std::string_view name) const;
  /// Stores the memory and replaces other memory of that name; WhyNot must have returned null. If
  /// the table is full, the oldest entry that the attached host does not use is removed, so that
  /// earlier hosts cannot exhaust the names.
  void Keep(std::string_view name, Entry entry);
  /// Returns null if the name is unknown.
  const Entry* Find(std::string_view name) const;
  void Forget(std::string_view name);
  /// Called when the attached host is gone.
  void Detach();

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  uint64_t latest_ = 0;
};

}  // namespace sluice::emulator

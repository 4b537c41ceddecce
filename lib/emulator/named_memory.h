// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that hosts gave a name, which outlives them until it is unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "emulator/channel.h"

namespace sluice::emulator {

/// A table; used by one thread.
class NamedMemory {
 public:
  struct Entry {
    File file;
    uint64_t bytes = 0;
    bool mirrored = false;
    uint64_t bus = 0;      ///< Where the attached host has it; 0: nowhere.
    uint64_t kept_at = 0;  ///< Grows from one Keep to the next.
  };
  static constexpr size_t kMaxNames = 64;

  /// Null, or why the attached host may not keep memory under that name.
  const char* WhyNot(std::string_view name) const;
  /// Keeps it, in place of other memory under that name; WhyNot said nothing. If there are
  /// too many names, the oldest that the attached host does not have is forgotten: no host
  /// keeps the next one from having names.
  void Keep(std::string_view name, Entry entry);
  /// Null if there is nothing under that name.
  const Entry* Find(std::string_view name) const;
  void Forget(std::string_view name);
  /// The attached host is gone.
  void Detach();

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  uint64_t kept_ = 0;
};

}  // namespace sluice::emulator

// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of another process, mapped from a file that it may cut off at any time.
#pragma once

#include <cstddef>

namespace sluice::emulator {

/// While it exists, an access to a page of [begin, begin + bytes) that its file no longer
/// has finds zeroes there, from then on, and is no SIGBUS. The first one installs a
/// handler for that signal in this process. Control path.
class GuardedRange {
 public:
  GuardedRange(void* begin, size_t bytes);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&&) = delete;

  /// False if there are too many already.
  explicit operator bool() const { return slot_ >= 0; }

 private:
  int slot_ = -1;
};

}  // namespace sluice::emulator

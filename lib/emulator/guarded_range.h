// SPDX-License-Identifier: BSD-3-Clause
//
// Guards memory whose pages another process can remove, by truncating the memory's file, or by
// punching a hole in a file of huge pages while no page is free. An access to such a page raises
// SIGBUS; if the memory is guarded, this ends one link instead of the process.
#pragma once

#include <cstddef>

namespace sluice::emulator {

/// Signals permanently that guarded memory was lost.
class LossAlarm {
 public:
  LossAlarm();
  ~LossAlarm();
  LossAlarm(const LossAlarm&) = delete;
  LossAlarm& operator=(const LossAlarm&) = delete;

  /// Returns a descriptor that becomes readable at the first loss. Nobody reads from it. Returns -1
  /// if no descriptor was available.
  int fd() const { return fd_; }
  /// Returns false if no descriptor was available; the alarm must then not be used.
  explicit operator bool() const { return fd_ >= 0; }
  bool Rung() const;

 private:
  const int fd_;
};

/// Guards [begin, begin + bytes) during its lifetime. An access to a page that the file no longer
/// contains triggers the alarm and reads zeros; from then on, the page is private to the process.
/// Ranges may overlap; the alarms of all of them are triggered. A range must consist of whole pages
/// of the mapped page size.
///
/// The first range installs a SIGBUS handler. The handler preserves errno and forwards every other
/// SIGBUS to the previous handler. Used on the control path; any thread may access guarded memory.
class GuardedRange {
 public:
  enum class Loss {
    kPage,   ///< Replaces the page with zeros and keeps the rest.
    kRange,  ///< Replaces the whole range with zeros, so that it fails only once.
  };

  GuardedRange() = default;
  /// `alarm` must outlive the range.
  GuardedRange(void* begin, size_t bytes, Loss loss, const LossAlarm& alarm);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;

  /// Returns false if this object guards no memory, because it is default-constructed or because
  /// too many ranges exist.
  explicit operator bool() const { return slot_ >= 0; }

 private:
  int slot_ = -1;
};

}  // namespace sluice::emulator

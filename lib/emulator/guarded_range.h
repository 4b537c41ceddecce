// SPDX-License-Identifier: BSD-3-Clause
//
// Memory whose pages another process can take away: by truncating its file, or by punching
// a hole in a file of huge pages when no page is free. An access there is a SIGBUS, and ends
// one link instead of the process.
#pragma once

#include <cstddef>

namespace sluice::emulator {

/// Signals, for good, that guarded memory was lost.
class LossAlarm {
 public:
  LossAlarm();
  ~LossAlarm();
  LossAlarm(const LossAlarm&) = delete;
  LossAlarm& operator=(const LossAlarm&) = delete;

  /// Readable from the first loss on, and never read; -1 if there was no descriptor left.
  int fd() const { return fd_; }
  /// False if there was no descriptor left. Nothing may be guarded then.
  explicit operator bool() const { return fd_ >= 0; }
  bool Rung() const;

 private:
  const int fd_;
};

/// While it exists, an access to a page of [begin, begin + bytes) that its file cannot
/// supply finds zeroes, which are the process's own from then on, and rings the alarm.
/// Ranges may overlap: all their alarms ring. Whole pages of whatever size is mapped there.
///
/// The first range installs a handler for SIGBUS, which keeps errno and hands every other
/// SIGBUS to the handler that was there before. Control path; the access, from any thread.
class GuardedRange {
 public:
  enum class Loss {
    kPage,   ///< Zeroes in place of the page; the rest stays as it is.
    kRange,  ///< Zeroes in place of the whole range, so that it fails once.
  };

  GuardedRange() = default;
  /// `alarm` outlives the range.
  GuardedRange(void* begin, size_t bytes, Loss loss, const LossAlarm& alarm);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;

  /// False if it guards nothing: made without a range, or too many exist.
  explicit operator bool() const { return slot_ >= 0; }

 private:
  int slot_ = -1;
};

}  // namespace sluice::emulator

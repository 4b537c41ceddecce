// SPDX-License-Identifier: BSD-3-Clause
//
// Captures the log of EAL and its drivers while EAL starts, so that one line can report why EAL did
// not start or why a device is absent. Used by the main thread; at most one instance may exist at a
// time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace sluice::runtime {

/// Receives EAL's log while it exists.
class StartLog {
 public:
  /// What happens to log lines until Show is called. Kept lines are lost if Show is never called.
  /// Critical lines are never kept but written at once, because EAL may abort after them. The list
  /// of options that EAL prints to standard output after an unknown option is always discarded.
  enum class Lines { kShown, kKept };

  explicit StartLog(Lines lines);
  /// Restores the previous log stream.
  ~StartLog();
  StartLog(const StartLog&) = delete;
  StartLog& operator=(const StartLog&) = delete;

  /// Starts EAL. Returns false on failure.
  bool StartEal(int argc, char** argv);
  /// Returns the exit code for when EAL did not start: 2 if it rejected its arguments, otherwise 1.
  int ExitCode() const { return refused_ ? 2 : 1; }
  /// Writes the kept lines and all later lines to standard error.
  void Show();
  /// Returns the first error line without its line end, or an empty string if there was none.
  const std::string& first_error() const { return first_error_; }
  /// Returns the value of rte_errno when the first error line was written, or 0 if there was none.
  int first_errno() const { return first_errno_; }
  /// Returns the reason why EAL did not start, as one line without a line end.
  std::string WhyNotStarted() const;

 private:
  static ssize_t Write(void* self, const char* text, size_t bytes);

  std::FILE* stream_;
  bool keep_;
  bool refused_ = false;
  std::string kept_;
  std::string first_error_;
  int first_errno_ = 0;
};

}  // namespace sluice::runtime

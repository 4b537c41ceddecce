// SPDX-License-Identifier: BSD-3-Clause
//
// What EAL and its drivers say while EAL starts, so that one line can tell why it did not, or why a
// device is not there. Main thread; at most one at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace sluice::runtime {

/// Takes EAL's log as long as it lives.
class StartLog {
 public:
  /// What becomes of lines until Show is called. Kept ones are lost if it never is, but for those
  /// of a process about to abort. EAL's list of options on standard output, which it prints
  /// when it does not understand one, is lost in either case.
  enum class Lines { kShown, kKept };

  explicit StartLog(Lines lines);
  /// Gives the log back.
  ~StartLog();
  StartLog(const StartLog&) = delete;
  StartLog& operator=(const StartLog&) = delete;

  /// Starts EAL. False: it does not start.
  bool StartEal(int argc, char** argv);
  /// Returns the exit code if EAL did not start: 2 if it refused its arguments, otherwise 1.
  int ExitCode() const { return refused_ ? 2 : 1; }
  /// Writes what was kept, and what comes from now on, to standard error.
  void Show();
  /// The first line that tells of an error, without its end; empty if there was none.
  const std::string& first_error() const { return first_error_; }
  /// Why EAL does not start, as one line without its end.
  std::string WhyNotStarted() const;

 private:
  static ssize_t Write(void* self, const char* text, size_t bytes);

  std::FILE* stream_;
  bool keep_;
  bool refused_ = false;
  std::string kept_;
  std::string first_error_;
};

}  // namespace sluice::runtime

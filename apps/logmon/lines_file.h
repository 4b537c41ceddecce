// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of filters with "show", as JSON, one object a line. Whatever a sender wrote, it is one
// line of printable ASCII: everything else is escaped, and what is no UTF-8 becomes U+FFFD.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "config.h"
#include "shown_lines.h"

namespace sluice::logmon {

/// One line of the file, with its LF.
std::string ShownLineText(const ShownLine& line, const Config& config);

/// A file that is appended to.
class LinesFile {
 public:
  LinesFile() = default;
  /// "-": standard output. False, with one line in `error`, if it cannot be opened.
  bool Open(const std::string& path, std::string* error);
  bool is_open() const { return file_ != nullptr; }
  void Write(std::string_view text);
  /// Pushes out what was written. The first time that not all of it could be, says so on standard
  /// error.
  void Flush();
  /// Lines are missing in the file. Threads as for Flush().
  bool failed() const { return failed_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdout) std::fclose(file);
    }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  bool failed_ = false;
};

}  // namespace sluice::logmon

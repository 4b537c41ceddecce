// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the lines of filters with "show" as JSON, one object per line. Every line is printable
// ASCII for any input: all other characters are escaped, and invalid UTF-8 becomes U+FFFD.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "config.h"
#include "shown_lines.h"

namespace sluice::logmon {

/// Returns one line of the file, with its LF.
std::string ShownLineText(const ShownLine& line, const Config& config);

/// A file opened for appending.
class LinesFile {
 public:
  LinesFile() = default;
  /// Opens `path`; "-" is standard output. Returns false and sets `error` on failure.
  bool Open(const std::string& path, std::string* error);
  bool is_open() const { return file_ != nullptr; }
  void Write(std::string_view text);
  /// Flushes the file. Prints the first failure on standard error.
  void Flush();
  /// Returns whether lines are missing from the file. Do not call it concurrently with Flush().
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

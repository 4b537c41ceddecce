// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a file atomically: under a temporary name, then renamed.
#pragma once

#include <cstddef>
#include <string>

namespace sluice::engine {

class WholeFile {
 public:
  /// Opens path + ".new" for writing, readable only by its owner.
  explicit WholeFile(const std::string& path);
  /// Removes the temporary file unless Finish renamed it.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Appends bytes to the file. Does nothing after a write has failed.
  void Write(const void* data, size_t bytes);
  /// Returns whether all writes so far succeeded.
  bool good() const { return errno_ == 0; }
  /// Syncs the file and renames it to `path`, replacing any older file. On failure, returns false
  /// and stores one line in `error`. The older file is then unchanged, unless the rename succeeded
  /// and only the sync of the folder failed.
  bool Finish(std::string* error);

 private:
  bool Fail(const char* what, std::string* error);

  const std::string path_;
  const std::string beside_;
  const int file_;
  int errno_ = 0;  ///< Errno of the first failure.
  bool renamed_ = false;
};

}  // namespace sluice::engine

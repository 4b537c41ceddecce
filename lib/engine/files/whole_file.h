// SPDX-License-Identifier: BSD-3-Clause
//
// A file that is there when it is whole: written beside the place where it is to be, and moved
// there.
#pragma once

#include <cstddef>
#include <string>

namespace sluice::engine {

class WholeFile {
 public:
  /// Writes to path + ".new", which its owner alone may read.
  explicit WholeFile(const std::string& path);
  /// Removes that file, unless Finish has renamed it.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Does nothing once a write has failed.
  void Write(const void* data, size_t bytes);
  /// Nothing was given to Write that could not be written.
  bool good() const { return errno_ == 0; }
  /// The file is whole: syncs it, and puts it in the place of an older one. False: `error` says
  /// why, in one line.
  bool Finish(std::string* error);

 private:
  bool Fail(const char* what, std::string* error);

  const std::string path_;
  const std::string beside_;
  const int file_;
  int errno_ = 0;  ///< Of what failed first.
  bool renamed_ = false;
};

}  // namespace sluice::engine

// SPDX-License-Identifier: BSD-3-Clause
//
// Saves the contents of the store in a file between runs. Used by the main thread while no worker
// runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/kv/access.h"

namespace sluice::kv {

class Persistence {
 public:
  /// `path`: path of the file; empty: none.
  Persistence(engine::kv::Store& store, std::string path) : store_(store), path_(std::move(path)) {}

  /// Reads the file, if it exists. `now_s`: time by the workers' clock. Returns false, with one
  /// line in `error`, on failure.
  bool Restore(uint32_t now_s, std::string* error);
  /// Writes the file. On failure returns false, with one line in `error`, and an existing file is
  /// unchanged, unless only the sync of the folder failed: the new file is then complete.
  bool Save(uint32_t now_s, std::string* error);

 private:
  engine::kv::Store& store_;
  std::string path_;
};

}  // namespace sluice::kv

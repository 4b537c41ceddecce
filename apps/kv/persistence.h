// SPDX-License-Identifier: BSD-3-Clause
//
// The store in a file, from one run to the next. Main thread, while no worker runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/kv/access.h"

namespace sluice::kv {

class Persistence {
 public:
  /// `path`: of the file; empty: there is none.
  Persistence(engine::kv::Store& store, std::string path) : store_(store), path_(std::move(path)) {}

  /// `now_s`: of the workers' clock. Reads the file, if it is there. False: `error` says in one
  /// line why not.
  bool Restore(uint32_t now_s, std::string* error);
  /// Writes it. False: as above; an older file stays.
  bool Save(uint32_t now_s, std::string* error);

 private:
  engine::kv::Store& store_;
  std::string path_;
};

}  // namespace sluice::kv

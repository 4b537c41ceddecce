// SPDX-License-Identifier: BSD-3-Clause
//
// Says when events of a filter are too many: to people, to a file, and to a program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "engine/logmon/metric/alert.h"
#include "lines_file.h"

namespace sluice::logmon {

/// One thread's. Programs that it started and that still run are left alone at the end.
class Alerts {
 public:
  /// `config` outlives it. `program`: run for each alert, or empty.
  Alerts(const Config& config, std::string program);

  /// False, with one line in `error`, if alerts cannot be written there.
  bool WriteTo(const std::string& path, std::string* error);
  /// Events by filter since the last call, none included; `now_ms` since 1970. Lines for people.
  std::vector<std::string> Update(const std::vector<uint64_t>& events, uint64_t now_ms);

  uint64_t fired() const { return fired_; }
  uint64_t failed_programs() const { return failed_programs_; }

 private:
  void Tell(size_t filter, bool fired, uint64_t now_ms);
  void Run(size_t filter);
  void Reap();

  const Config& config_;
  std::string program_;
  std::vector<std::optional<engine::logmon::Alert>> alerts_;  ///< By filter.
  LinesFile file_;
  std::vector<pid_t> running_;
  uint64_t fired_ = 0;
  uint64_t failed_programs_ = 0;
};

}  // namespace sluice::logmon

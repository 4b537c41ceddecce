// SPDX-License-Identifier: BSD-3-Clause
//
// Says when events of a filter are too many: to people, to a file, and to a program.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "alert_events.h"
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
  /// Alerts are missing in that file.
  bool failed() const { return file_.failed(); }
  /// Of a filter with an alert. Counts at the next Update.
  void Add(const AlertEvent& event);
  /// Lines for people, of printable ASCII; `now_ms` since 1970.
  std::vector<std::string> Update(uint64_t now_ms);

  uint64_t fired() const { return fired_; }
  /// Events of hosts beyond those that an alert has room for.
  uint64_t lost_hosts() const { return lost_hosts_; }
  uint64_t failed_programs() const { return failed_programs_; }

 private:
  /// An alert of one host, or of all.
  struct HostAlert {
    engine::logmon::Alert alert;
    uint64_t new_events = 0;
    std::string line;  ///< The last one's.
  };
  /// What is told of an edge.
  struct Telling {
    size_t filter;
    const std::string& host;
    const std::string& line;
    bool fired;
    uint64_t count;  ///< Events in the window.
  };
  bool Count(HostAlert& one, uint64_t now_ms, Telling* telling);
  std::string LineFor(const Telling& telling) const;
  void Tell(const Telling& telling, uint64_t now_ms);
  void Run(const Telling& telling);
  void Reap();

  const Config& config_;
  std::string program_;
  std::vector<absl::flat_hash_map<std::string, HostAlert>> hosts_;  ///< By filter, then host.
  LinesFile file_;
  std::vector<pid_t> running_;
  uint64_t fired_ = 0;
  uint64_t lost_hosts_ = 0;
  uint64_t failed_programs_ = 0;
};

}  // namespace sluice::logmon

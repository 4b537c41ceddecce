// SPDX-License-Identifier: BSD-3-Clause
//
// Alerts users, a file and a program if a filter has too many events.
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

/// Used by one thread. The destructor does not stop programs that still run.
class Alerts {
 public:
  /// `config` must outlive the object. `program`: run for each alert; may be empty.
  Alerts(const Config& config, std::string program);

  /// Opens the file for alerts. Returns false and sets `error` on failure.
  bool WriteTo(const std::string& path, std::string* error);
  /// Returns whether alerts are missing from the file.
  bool failed() const { return file_.failed(); }
  /// Adds events of a filter with an alert. They count at the next Update.
  void Add(const AlertEvent& event);
  /// Counts the added events, and reports alerts that start or end. Returns one line of printable
  /// ASCII for each. `now_ms`: time since 1970.
  std::vector<std::string> Update(uint64_t now_ms);

  uint64_t fired() const { return fired_; }
  /// Returns the number of events that no alert counted, because the alert already had its maximum
  /// number of hosts.
  uint64_t lost_hosts() const { return lost_hosts_; }
  uint64_t failed_programs() const { return failed_programs_; }

 private:
  /// An alert of one host, or of all hosts.
  struct HostAlert {
    engine::logmon::Alert alert;
    uint64_t new_events = 0;
    std::string line;  ///< Line of the last event.
  };
  /// The data of a report on an alert's change.
  struct Transition {
    size_t filter;
    const std::string& host;
    const std::string& line;
    bool fired;
    uint64_t count;  ///< Number of events in the window; valid if `fired`.
  };
  bool Count(HostAlert& one, uint64_t now_ms, Transition* transition);
  std::string LineFor(const Transition& transition) const;
  void Publish(const Transition& transition, uint64_t now_ms);
  void Run(const Transition& transition);
  void Reap();

  const Config& config_;
  std::string program_;
  /// Indexed by filter, then by host.
  std::vector<absl::flat_hash_map<std::string, HostAlert>> hosts_;
  LinesFile file_;
  std::vector<pid_t> running_;
  uint64_t fired_ = 0;
  uint64_t lost_hosts_ = 0;
  uint64_t failed_programs_ = 0;
};

}  // namespace sluice::logmon

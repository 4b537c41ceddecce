// SPDX-License-Identifier: BSD-3-Clause
//
// Operator commands to a running balancer: the telemetry commands /sluice/maglev/…, and SIGHUP.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control.h"
#include "fleet.h"
#include "runtime/hooks.h"
#include "steering.h"

namespace sluice::maglev {

class Operator {
 public:
  /// `steering`: null if the port's flow rules are not used.
  Operator(Control& control, const Fleet& fleet, Steering* steering)
      : control_(control), fleet_(fleet), steering_(steering) {}

  /// Reloads the file, updates the steering, and prints the result on standard error. Returns an
  /// error message, or an empty string.
  std::string Reload();
  /// Applies etcd's additions to the latest text of the file, updates the steering, and prints the
  /// result on standard error.
  void ApplyAdditions(const Additions& additions);
  /// Prints the skipped etcd keys, once per key and reason. After config::kMaxErrors lines, prints
  /// only how many more keys there are.
  void PrintSkipped();
  /// Updates the port's flow rules for the VIPs. Returns a line for the user.
  std::string Steer();
  /// Returns commands that refer to this object.
  std::vector<runtime::TelemetryCommand> Commands();

 private:
  using Json = nlohmann::ordered_json;

  Json Backends(const std::string& parameters) const;
  Json ExplainFlow(std::string_view parameters) const;
  /// Prints warnings about the configuration that was just applied.
  void PrintWarnings();
  Json Skipped() const;
  Json PlanFile(const std::string& path) const;
  /// Parses "<vip>/<backend>"; either name may contain slashes.
  std::optional<BackendId> FindBackend(std::string_view parameters) const;

  Control& control_;
  const Fleet& fleet_;
  Steering* steering_;
  std::mutex steering_mutex_;
  std::mutex skipped_mutex_;
  // Keys that PrintSkipped has printed and that are still skipped.
  engine::maglev::SkippedKeys printed_;
};

}  // namespace sluice::maglev

// SPDX-License-Identifier: BSD-3-Clause
//
// What operators can ask of a running balancer and tell it: /sluice/maglev/… of telemetry, and
// SIGHUP.
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
  /// `steering`: null where the port's rules are of no use.
  Operator(Control& control, const Fleet& fleet, Steering* steering)
      : control_(control), fleet_(fleet), steering_(steering) {}

  /// Reads the file again and updates the steering; says so on standard error. "" or why not.
  std::string Reload();
  /// Applies what etcd adds to the file; reports that on standard error.
  void TakeUp(const Additions& additions);
  /// Prints the keys of etcd that are skipped, once for each reason.
  void TellSkipped();
  /// VIPs in the port's rules; a line for people.
  std::string Steer();
  /// They refer to this object.
  std::vector<runtime::TelemetryCommand> Commands();

 private:
  using Json = nlohmann::ordered_json;

  Json Backends(const std::string& parameters) const;
  Json ExplainFlow(std::string_view parameters) const;
  /// What an operator should know about a configuration that was just applied.
  void TellConfig();
  Json Skipped() const;
  Json PlanFile(const std::string& path) const;
  /// Of "<vip>/<backend>"; either name may contain slashes.
  std::optional<BackendId> FindBackend(std::string_view parameters) const;

  Control& control_;
  const Fleet& fleet_;
  Steering* steering_;
  std::mutex steering_mutex_;
  std::mutex skipped_mutex_;
  engine::maglev::SkippedKeys told_;  // The keys that are skipped now and were printed.
};

}  // namespace sluice::maglev

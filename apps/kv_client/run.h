// SPDX-License-Identifier: BSD-3-Clause
//
// One run against servers: preloading, measuring, statistics lines.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include "engine/kv/client/client.h"
#include "membership.h"
#include "report.h"
#include "settings.h"
#include "sockets.h"

namespace sluice::kv_client {

class Run {
 public:
  /// `source` says what comes after `servers`; null: nothing does. `interrupted`, once not 0, ends
  /// everything soon. All but `servers` outlive the run.
  Run(const Settings& settings, const Servers& servers, MemberSource* source,
      const volatile std::sig_atomic_t& interrupted);

  /// False, with one line in `error`, if there is no way to a server.
  bool Open(std::string* error);
  /// Sets all items. False if no answers came for the patience.
  bool Preload();
  /// For the duration; then waits for the last answers.
  void Measure();

  const Figures& figures() const { return total_; }

 private:
  bool AddServers(std::string* error);
  void Turn(uint64_t until_ns);
  void PollServers(uint64_t now);
  Figures Collect(uint64_t elapsed_ns);

  const Settings& settings_;
  const volatile std::sig_atomic_t& interrupted_;
  Membership membership_;
  engine::kv::client::Client client_;
  Sockets sockets_;
  size_t added_ = 0;  // Servers that the sockets know.
  uint64_t polled_ns_ = 0;
  Figures total_;
};

}  // namespace sluice::kv_client

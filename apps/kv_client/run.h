// SPDX-License-Identifier: BSD-3-Clause
//
// One run against servers: preloads and measures them, and prints lines of statistics.
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
  /// `source` provides the server lists that replace `servers`; if it is null, the servers do not
  /// change. Once `interrupted` is nonzero, all functions return early. All arguments except
  /// `servers` must outlive the object.
  Run(const Settings& settings, const Servers& servers, MemberSource* source,
      const volatile std::sig_atomic_t& interrupted);

  /// Returns false and sets `error` if a server's host name cannot be resolved or no socket can be
  /// opened.
  bool Open(std::string* error);
  /// Sets all items. Returns false if no answer arrived for patience_s.
  bool Preload();
  /// Runs for the duration, then waits until each outstanding request is answered or has timed out.
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
  size_t added_ = 0;  // Number of servers added to the sockets.
  uint64_t polled_ns_ = 0;
  Figures total_;
};

}  // namespace sluice::kv_client

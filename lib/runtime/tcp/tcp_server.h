// SPDX-License-Identifier: BSD-3-Clause
//
// A run whose workers serve byte streams over TCP. TCP runs in the workers, on any interface.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/neighbor/neighbor.h"
#include "engine/transport/tcp_counts.h"
#include "engine/transport/tcp_host.h"
#include "packet/own_addresses.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/session.h"

namespace sluice::runtime {

/// Checks that this build and the command line permit TCP. If they do not, returns false and stores
/// the wrong flag in `complaint`. Call it before Session::Start. `flag` is the application flag
/// that selects TCP.
bool CheckTcp(const CommandLine& line, std::string_view flag, Complaint complaint);

/// Checks the TCP port that the application's flag `flag` selects; see Complaint.
bool CheckTcpPort(uint32_t port, std::string_view flag, Complaint complaint);

/// Returns the options of one worker's host: the flags of TCP, a random seed and `own`.
engine::TcpHostOptions TcpOptions(std::vector<uint16_t> ports, const packet::OwnAddresses& own);

/// Adds the TCP counters to the statistics line, the report and the metrics. `counts` must outlive
/// the run.
void AddTcpCounts(std::span<const engine::TcpCounts> counts, AppHooks& hooks);

/// Like Session::Run, for byte-stream engines, which `make_streams(const WorkerInfo&)` creates.
/// They accept connections to these TCP ports. Frames that are neither for TCP nor for the
/// session's neighbor engine go to the exception port.
template <typename MakeStreams>
int RunTcp(Session& session, const std::vector<uint16_t>& ports, MakeStreams make_streams,
           AppHooks hooks = {}) {
  using Host = engine::TcpHost<std::invoke_result_t<MakeStreams&, const WorkerInfo&>>;
  if (session.workers() > 1 && !session.has_queues()) {
    return BadFlag("workers",
                   "give 1: pipes of this NIC do not keep all frames of a TCP connection "
                   "with one worker");
  }
  std::vector<engine::TcpCounts> counts(session.workers());
  std::vector<Host> hosts;
  for (uint32_t worker = 0; worker < session.workers(); ++worker) {
    std::string error;
    auto host = Host::Create(
        TcpOptions(ports, session.own()), counts[worker],
        [&] {
          return make_streams(WorkerInfo{worker, session.own()});
        },
        &error);
    if (!host) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
    hosts.push_back(*std::move(host));
  }
  AddTcpCounts(counts, hooks);
  return session.Run(
      [&](const WorkerInfo& info) {
        return engine::WithNeighbor<Host>(info.own, std::move(hosts[info.worker]));
      },
      std::move(hooks));
}

}  // namespace sluice::runtime

// SPDX-License-Identifier: BSD-3-Clause
//
// A run whose workers serve byte streams over TCP, on any interface. TCP runs in the workers or in
// the transport unit of a model NIC.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/neighbor/neighbor.h"
#include "engine/transport/tcp_counts.h"
#include "engine/transport/tcp_host.h"
#include "nic/transport_unit.h"
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

/// Adds the counters of TCP to the statistics line, the report and the metrics. `counts` must
/// outlive the run.
void AddTcpCounts(std::span<const engine::TcpCounts> counts, AppHooks& hooks);

/// The server of a run. Prepare must be called before Session::Start, and Run after it; the object
/// must outlive the session's run.
class TcpServer {
 public:
  /// Connections to these ports are accepted.
  explicit TcpServer(std::vector<uint16_t> ports) : ports_(std::move(ports)) {}
  /// Makes Session::Start start the NIC's transport unit if the flags select it. `Streams` is the
  /// engine that Run will run.
  template <packet::ByteStreamEngine Streams>
  void Prepare(CommandLine& line) {
    PrepareFor(line, Streams::kMaxAnswerBytes);
  }
  /// Like Session::Run, for engines for byte streams, which `make_streams(const WorkerInfo&)`
  /// creates. Frames that are neither for TCP nor for the session's neighbor engine go to the
  /// exception port.
  template <typename MakeStreams>
  int Run(Session& session, MakeStreams make_streams, AppHooks hooks = {}) {
    if (unit_ != nullptr) {
      WatchUnit(hooks);
      return RunOn<transport::NicStreams>(session, make_streams, std::move(hooks));
    }
    if (session.workers() > 1 && !session.has_queues()) {
      return BadFlag("workers",
                     "give 1: pipes of this NIC do not keep all frames of a TCP connection with "
                     "one worker");
    }
    options_ = Options(session.own());
    return RunOn<transport::Stack>(session, make_streams, std::move(hooks));
  }

 private:
  /// Prepare for an engine that needs room for `answer_bytes` bytes.
  void PrepareFor(CommandLine& line, uint32_t answer_bytes);
  /// Returns the options of one worker's host: the flags of TCP, a random seed and `own`.
  engine::TcpHostOptions Options(const packet::OwnAddresses& own) const;
  std::shared_ptr<void> StartUnit(uint16_t port, const packet::OwnAddresses& own,
                                  std::string* error);

  /// Makes the main thread start the unit again after it was lost.
  void WatchUnit(AppHooks& hooks);

  /// Run, with TCP in `Tcp`; see engine::TcpHost.
  template <typename Tcp, typename MakeStreams>
  int RunOn(Session& session, MakeStreams& make_streams, AppHooks hooks) {
    using Host = engine::TcpHost<std::invoke_result_t<MakeStreams&, const WorkerInfo&>, Tcp>;
    std::vector<engine::TcpCounts> counts(session.workers());
    std::vector<Host> hosts;
    for (uint32_t worker = 0; worker < session.workers(); ++worker) {
      std::string error;
      auto host = Host::Create(
          options_, counts[worker],
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

  const std::vector<uint16_t> ports_;
  uint32_t ring_bytes_ = 0;
  engine::TcpHostOptions options_;
  nic::TransportUnit* unit_ = nullptr;  ///< Null if TCP runs in the workers. The session owns it.
};

}  // namespace sluice::runtime

// SPDX-License-Identifier: BSD-3-Clause
//
// One run of an application: EAL, ports, workers, supervision, report. main() calls Start and then
// Run with a function that creates an engine for a worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nic/eth_port.h"
#include "nic/interfaces.h"
#include "nic/model_step.h"
#include "nic/own_frames.h"
#include "nic/reassembling.h"
#include "packet/engine.h"
#include "packet/own_addresses.h"
#include "runtime/capture.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/metrics.h"
#include "runtime/port_stats.h"
#include "runtime/supervisor.h"
#include "runtime/worker.h"

namespace sluice::runtime {

/// Constructor arguments for an engine.
struct WorkerInfo {
  uint32_t worker;           ///< 0 … workers − 1.
  packet::OwnAddresses own;  ///< Addresses of the port and of --ip.
};

class Session {
 public:
  /// Starts EAL and opens the ports. On failure prints one line, returns null and sets `exit_code`:
  /// 2 if an argument is wrong, otherwise 1.
  static std::unique_ptr<Session> Start(CommandLine line, int* exit_code);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Returns the number of the port that the workers serve.
  uint16_t port() const { return port_; }
  /// Returns whether worker i polls receive queue i of the port, as rte_flow also numbers it.
  /// Returns false if workers poll pipes that are not ethdev queues.
  bool has_queues() const {
    return std::visit([](const auto& binding) { return binding.has_queues(); }, binding_);
  }
  uint32_t workers() const { return line_.options.workers; }
  /// Returns the MAC address of the port, and the addresses of --ip.
  const packet::OwnAddresses& own() const { return own_; }
  /// Waits up to `seconds` until the port's link is up or a stop signal arrives. Returns whether
  /// the link is up. Call it before Run. Returns true at once if the driver does not report the
  /// link, or if no ethdev queue is set up, because a native interface brings its link up in Run.
  bool AwaitLink(int seconds) const;
  /// Returns the length in bytes of the longest IP packet that workers receive: the value in
  /// InterfaceOptions, adapted to the limits of the port.
  uint32_t packet_bytes() const {
    return std::visit([](const auto& binding) { return binding.packet_bytes(); }, binding_);
  }

  /// Runs one engine per worker, created by `make_engine(const WorkerInfo&)`. The run ends when
  /// AppHooks::over returns true (or, without this hook, the duration has passed) or a signal
  /// arrives. Returns the exit code, which is 2 if an engine's QueueError returns an error. If an
  /// engine owns addresses (packet::HostEngine), the session can reassemble fragments for it.
  /// `hooks` are called until Run returns.
  template <typename MakeEngine>
  int Run(MakeEngine make_engine, AppHooks hooks = {}) {
    hooks_ = std::move(hooks);
    return std::visit(
        [&](auto& binding) {
          return binding.WithQueues(
              [&](auto make_queue) { return RunWorkers(make_engine, make_queue); });
        },
        binding_);
  }

 private:
  /// A worker's queue, engine and control, which its lcore gets as the argument.
  template <typename Queue, typename Engine>
  struct Job {
    Queue queue;
    Engine engine;
    WorkerControl control;

    static int Main(void* job) {
      Job& self = *static_cast<Job*>(job);
      Work(self.queue, self.engine, self.control);
      return 0;
    }
    static bool LinkUp(const void* job) { return static_cast<const Job*>(job)->queue.LinkUp(); }
  };

  explicit Session(CommandLine line) : line_(std::move(line)) {}
  /// Returns whether the application accepts frames for other stations. True if the embedded NIC's
  /// wire replays a capture, because the capture's MAC addresses belong to another network.
  bool IsPromiscuous() const;
  bool MakeDefragmenters(std::string* error);
  // Steps of Start. Each returns the exit code. If the code is not 0, the step stores the reason in
  // `error`.
  int OpenMetrics(std::string* error);
  int StartEal(std::string* error);
  /// `why` is EAL's first error line, used in the message about a missing port.
  bool FindPorts(const std::string& why, std::string* error);
  /// Opens the ports and the binding. Returns 0, or the exit code.
  int OpenPorts(std::string* error);

  /// Returns whether the engine can run on its queue. If not, prints the engine's error.
  static bool CanRun(packet::Engine& engine, const packet::CanEmit& can_emit);

  /// Creates a worker's engine. If the engine answers for IP addresses, wraps it in the
  /// reassembler. If it serves only the port's station, also wraps it in the address filter.
  template <typename MakeEngine>
  auto MakeFront(MakeEngine& make_engine, uint32_t worker) {
    using Engine = std::invoke_result_t<MakeEngine&, const WorkerInfo&>;
    const auto make = [&] {
      const WorkerInfo info{worker, own_};
      if constexpr (packet::HostEngine<Engine>) {
        return nic::Reassembling<Engine>(std::move(defragmenters_[worker]),
                                         [&] { return make_engine(info); });
      } else {
        return make_engine(info);
      }
    };
    if constexpr (Engine::kOwnFramesOnly) {
      return nic::OwnFrames<decltype(make())>(own_.mac(), IsPromiscuous(), make);
    } else {
      return make();
    }
  }

  template <typename MakeEngine, typename MakeQueue>
  int RunWorkers(MakeEngine& make_engine, MakeQueue make_queue) {
    using Bare = std::invoke_result_t<MakeEngine&, const WorkerInfo&>;
    if (!packet::HostEngine<Bare> && line_.options.reassemble > 0) {
      return BadFlag("reassemble",
                     "sluice-" + line_.app + " does not reassemble datagrams: omit it");
    }
    using Engine = decltype(MakeFront(make_engine, 0));
    using Queue = std::invoke_result_t<MakeQueue&, uint32_t>;
    std::vector<std::unique_ptr<Job<Queue, Engine>>> jobs;
    std::vector<WorkerView> views;
    for (uint32_t i = 0; i < line_.options.workers; ++i) {
      jobs.emplace_back(new Job<Queue, Engine>{make_queue(i), MakeFront(make_engine, i), {}});
      Job<Queue, Engine>& job = *jobs.back();
      job.control.model = nic::ModelService(port_);
      const auto can_emit = [&job](const uint8_t* frame, uint32_t length) {
        return job.queue.CanEmit(frame, length);
      };
      if (!CanRun(job.engine, can_emit)) return 2;
      if (capture_) Watch(job.queue, i);
      views.push_back({&job.control, &job.queue.counters(), &Job<Queue, Engine>::Main,
                       &Job<Queue, Engine>::LinkUp, &job});
    }
    return Supervise(views, Engine::kDropReasons);
  }

  /// Captures the frames of a worker's queue, through the queue's tap if it has one, otherwise
  /// through ethdev callbacks.
  template <typename Queue>
  void Watch(Queue& queue, uint32_t worker) {
    if constexpr (requires { queue.set_tap(nic::SpanTap{}); }) {
      queue.set_tap(capture_->TapSpans(port_, worker));
    } else if constexpr (requires { queue.set_tap(nic::FrameTap{}); }) {
      queue.set_tap(capture_->TapFrames(port_, worker));
    } else {
      capture_->Attach(port_, static_cast<uint16_t>(worker));
    }
  }

  int Supervise(std::span<const WorkerView> workers, std::span<const std::string_view> reasons);

  CommandLine line_;
  AppHooks hooks_;
  bool eal_ = false;
  /// Prefix of the files to remove at the end; empty if the user chose the prefix.
  std::string file_prefix_;
  std::string memory_;
  /// Name of the model that the session created; empty if the user gave a port.
  std::string embedded_;
  uint16_t port_ = 0;
  std::optional<uint16_t> exception_;
  packet::OwnAddresses own_;
  std::shared_ptr<void> prepared_;  ///< Result of CommandLine::prepare.
  PortStats opened_;                ///< Statistics before the port was started.
  std::unique_ptr<nic::EthPort> exception_port_;
  std::vector<packet::Defragmenter> defragmenters_;  ///< One per worker, moved into the engines.
  nic::AnyBinding binding_;  ///< Binding of the selected interface; valid after OpenPorts.
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<MetricsServer> metrics_;
};

}  // namespace sluice::runtime

// SPDX-License-Identifier: BSD-3-Clause
//
// One run of an application: EAL, ports, workers, supervision, report. main()
// calls Start and then Run with a function that makes an engine for a worker.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
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
#include "runtime/capture.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/metrics.h"
#include "runtime/port_stats.h"
#include "runtime/supervisor.h"
#include "runtime/worker.h"

namespace sluice::runtime {

/// What an engine may want to know about its place.
struct WorkerInfo {
  uint32_t worker;             ///< 0 … workers − 1.
  std::array<uint8_t, 6> mac;  ///< Of the port.
};

class Session {
 public:
  /// Starts EAL and opens the ports. On failure prints one line, returns null and
  /// sets `exit_code`: 2 if an argument is to blame, else 1.
  static std::unique_ptr<Session> Start(CommandLine line, int* exit_code);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Number of the port whose frames the workers handle; of their queues, if it has queues.
  uint16_t port() const { return port_; }
  /// Whether numbers of the port's receive queues name the workers, in rte_flow too: not where
  /// each worker has pipes of its own.
  bool has_queues() const {
    return std::visit([](const auto& binding) { return binding.has_queues(); }, binding_);
  }
  uint32_t workers() const { return line_.options.workers; }
  /// Waits until the port's link is up, for so long, or until a signal asks for the end. Returns
  /// whether it is up. Before Run.
  /// Does not wait if no ethdev queue is set up: a native interface brings its link up in Run.
  bool AwaitLink(int seconds) const;
  /// Bytes of the longest IP packet that workers receive: of InterfaceOptions, or less.
  uint32_t packet_bytes() const {
    return std::visit([](const auto& binding) { return binding.packet_bytes(); }, binding_);
  }

  /// Runs `make_engine(const WorkerInfo&)`'s engines, one per worker, until the
  /// time is over or a signal comes. The engine's static `kDropReasons` names its
  /// drops; worker.h says what else it may have. An engine may have Fault(queue), asked before
  /// the run: why it cannot work on that queue, in one line that names the flag; empty: it can. Of
  /// an engine with addresses of its own (reassembling.h), fragments can be put together. `hooks`
  /// are called until Run returns the exit code.
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
  /// A worker's queue, engine and control; what its lcore is given.
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
  /// Whether frames for other stations are the application's, too. Those of a capture that the
  /// embedded NIC's wire replays are: their addresses are of where it was made.
  bool IsPromiscuous() const;
  bool MakeDefragmenters(std::string* error);
  // Steps of Start: the exit code, and why it is not 0.
  int OpenMetrics(std::string* error);
  int StartEal(std::string* error);
  /// `why`: what EAL said first of an error, in case a port is not there.
  bool FindPorts(const std::string& why, std::string* error);
  /// 0, or the exit code.
  int OpenPorts(std::string* error);

  /// A worker's engine, behind what puts fragments together if it has addresses of its own, behind
  /// the address filter if it serves the port's station alone.
  template <typename MakeEngine>
  auto MakeFront(MakeEngine& make_engine, uint32_t worker) {
    using Engine = std::invoke_result_t<MakeEngine&, const WorkerInfo&>;
    const auto make = [&] {
      const WorkerInfo info{worker, mac_};
      if constexpr (nic::HostEngine<Engine>) {
        return nic::Reassembling<Engine>(std::move(defragmenters_[worker]),
                                         [&] { return make_engine(info); });
      } else {
        return make_engine(info);
      }
    };
    if constexpr (packet::OwnFramesOnly<Engine>()) {
      return nic::OwnFrames<decltype(make())>(mac_, IsPromiscuous(), make);
    } else {
      return make();
    }
  }

  template <typename MakeEngine, typename MakeQueue>
  int RunWorkers(MakeEngine& make_engine, MakeQueue make_queue) {
    using Bare = std::invoke_result_t<MakeEngine&, const WorkerInfo&>;
    if (!nic::HostEngine<Bare> && line_.options.reassemble > 0) {
      return BadFlag("reassemble", "sluice-" + line_.app + " puts nothing together: omit it");
    }
    using Engine = decltype(MakeFront(make_engine, 0));
    using Queue = std::invoke_result_t<MakeQueue&, uint32_t>;
    std::vector<std::unique_ptr<Job<Queue, Engine>>> jobs;
    std::vector<WorkerView> views;
    for (uint32_t i = 0; i < line_.options.workers; ++i) {
      jobs.emplace_back(new Job<Queue, Engine>{make_queue(i), MakeFront(make_engine, i), {}});
      Job<Queue, Engine>& job = *jobs.back();
      job.control.model = nic::ModelService(port_);
      if constexpr (requires { job.engine.Fault(job.queue); }) {
        if (const std::string fault = job.engine.Fault(job.queue); !fault.empty()) {
          std::fprintf(stderr, "%s\n", fault.c_str());
          return 2;
        }
      }
      if (capture_) Watch(job.queue, i);
      views.push_back({&job.control, &job.queue.counters(), &Job<Queue, Engine>::Main,
                       &Job<Queue, Engine>::LinkUp, &job});
    }
    return Supervise(views, Engine::kDropReasons);
  }

  /// Shows the capture what passes a worker's queue: through the queue's tap, or, where it has
  /// none, through ethdev's callbacks.
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
  std::string file_prefix_;  ///< Whose files are removed at the end; empty if the user chose it.
  std::string memory_;
  std::string embedded_;  ///< Name of the model that we created; empty if the user gave a port.
  uint16_t port_ = 0;
  std::optional<uint16_t> exception_;
  std::array<uint8_t, 6> mac_{};
  PortStats opened_;  ///< Before the port was started.
  std::unique_ptr<nic::EthPort> exception_port_;
  std::vector<packet::Defragmenter> defragmenters_;  ///< By worker, until the engines have them.
  nic::AnyBinding binding_;  ///< Of the interface that the options name, from OpenPorts on.
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<MetricsServer> metrics_;
};

}  // namespace sluice::runtime

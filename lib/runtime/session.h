// SPDX-License-Identifier: BSD-3-Clause
//
// One run of an application: EAL, ports, workers, supervision, report. main()
// calls Start and then Run with a function that makes an engine for a worker.
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
#include <vector>

#include "nic/bilateral.h"
#include "nic/enso_pipes.h"
#include "nic/eth_port.h"
#include "nic/ipu_link.h"
#include "nic/mbuf_pipes.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
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
  bool has_queues() const { return eth_port_ != nullptr || !links_.empty(); }
  uint32_t workers() const { return line_.options.workers; }

  /// Runs `make_engine(const WorkerInfo&)`'s engines, one per worker, until the
  /// time is over or a signal comes. The engine's static `kDropReasons` names its
  /// drops; worker.h says what else it may have. `hooks` are called until Run returns the
  /// exit code.
  template <typename MakeEngine>
  int Run(MakeEngine make_engine, AppHooks hooks = {}) {
    hooks_ = std::move(hooks);
    if (line_.options.iface == Interface::kPacketized) {
      return RunWorkers(make_engine, [this](uint32_t worker) {
        const auto queue = static_cast<uint16_t>(worker);
        return nic::PacketizedQueue(port_, queue, line_.options.burst, Exception(worker),
                                    eth_port_->pool(queue));
      });
    }
    if (line_.options.iface == Interface::kBilateral) {
      return RunWorkers(make_engine, [this](uint32_t worker) {
        return nic::BilateralQueue<nic::IpuLink>(links_[worker], Exception(worker));
      });
    }
    if (native_) {
      return RunWorkers(make_engine, [this](uint32_t worker) {
        return nic::StreamingQueue<nic::EnsoPipes>(std::move(enso_pipes_[worker]),
                                                   Exception(worker));
      });
    }
    return RunWorkers(make_engine, [this](uint32_t worker) {
      const auto queue = static_cast<uint16_t>(worker);
      return nic::StreamingQueue<nic::MbufPipes>(
          nic::MbufPipes(port_, queue, eth_port_->pool(queue)), Exception(worker));
    });
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
  bool OpenMetrics(std::string* error);
  bool StartEal(std::string* error);
  bool FindPorts(std::string* error);
  /// 0, or the exit code.
  int OpenPorts(std::string* error);
  bool OpenPipes(std::string* error);
  int OpenLinks(std::string* error);
  LinkFigures SumLinks() const;
  /// A worker's way to the exception port, if there is one.
  nic::ExceptionPath Exception(uint32_t worker) const;

  template <typename MakeEngine, typename MakeQueue>
  int RunWorkers(MakeEngine& make_engine, MakeQueue make_queue) {
    using Engine = std::invoke_result_t<MakeEngine&, const WorkerInfo&>;
    using Queue = std::invoke_result_t<MakeQueue&, uint32_t>;
    std::vector<std::unique_ptr<Job<Queue, Engine>>> jobs;
    std::vector<WorkerView> views;
    for (uint32_t i = 0; i < line_.options.workers; ++i) {
      jobs.emplace_back(
          new Job<Queue, Engine>{make_queue(i), make_engine(WorkerInfo{i, mac_}), {}});
      Job<Queue, Engine>& job = *jobs.back();
      if constexpr (requires { job.queue.set_tap(nic::SpanTap{}); }) {
        if (capture_) job.queue.set_tap(capture_->TapSpans(port_, i));
      } else if constexpr (requires { job.queue.set_tap(nic::FrameTap{}); }) {
        if (capture_) job.queue.set_tap(capture_->TapFrames(port_, i));
      }
      views.push_back({&job.control, &job.queue.counters(), &Job<Queue, Engine>::Main,
                       &Job<Queue, Engine>::LinkUp, &job});
    }
    return Supervise(views, Engine::kDropReasons);
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
  PortStats opened_;  ///< Before the port was opened.
  bool native_ = false;                            ///< On the driver's native face.
  std::unique_ptr<nic::EthPort> eth_port_;         ///< Not if native.
  std::unique_ptr<nic::EthPort> exception_port_;
  std::vector<nic::EnsoPipes> enso_pipes_;         ///< Streaming, native: each worker's, until Run.
  std::vector<nic::IpuLink> links_;                ///< Bilateral: each worker's.
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<MetricsServer> metrics_;
};

}  // namespace sluice::runtime

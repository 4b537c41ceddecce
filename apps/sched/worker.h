// SPDX-License-Identifier: BSD-3-Clause
//
// A worker lcore reads requests from its queue, creates tasks, and acts as a CPU that runs the
// tasks scheduled on it. It polls its queue again after a bounded time, even if a task is running.
// It is an engine for the loop in runtime/worker.h, and runs tasks in AtRest, after every poll.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>

#include "base/counter_rows.h"
#include "figures.h"
#include "packet/datagram.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "processor.h"
#include "stage.h"
#include "workload.h"

namespace sluice::sched {

struct WorkerOptions {
  uint16_t port = 1025;                ///< UDP port of requests.
  uint64_t poll_ns = 10'000;           ///< Maximum time between two polls of the queue.
  uint64_t runaway_ns = 1'000'000;     ///< Time by which a task may overrun before a signal cuts
                                       ///< it; 0: never cut.
  std::optional<WorkloadOptions> own;  ///< If set, the worker generates these requests.
  std::FILE* text = stdout;            ///< Stream for the rows of finished cells; null: none.
};

class Worker final : public packet::Engine {
 public:
  enum DropReason : uint8_t {
    kMalformed,  ///< A header is invalid or contradicts another.
    kFragment,
    kOptions,      ///< Contains IPv4 options or IPv6 extension headers.
    kBadChecksum,  ///< Wrong UDP checksum.
    kLength,       ///< The length is not that of a request.
    kMagic,
    kVersion,
    kClass,
    kFlags,    ///< Unknown flags, or nonzero reserved bytes.
    kService,  ///< The service time exceeds one second.
    kTooMany,  ///< No task is free, or the kernel already has its maximum number.
    kReasons
  };
  static constexpr auto kDropReasons =
      base::Names<DropReason, kReasons>({{kMalformed, "malformed"},
                                         {kFragment, "fragment"},
                                         {kOptions, "ip_options"},
                                         {kBadChecksum, "bad_checksum"},
                                         {kLength, "wrong_length"},
                                         {kMagic, "wrong_magic"},
                                         {kVersion, "wrong_version"},
                                         {kClass, "wrong_class"},
                                         {kFlags, "wrong_flags"},
                                         {kService, "service_too_long"},
                                         {kTooMany, "no_task"}});
  static constexpr bool kOwnFramesOnly = true;
  static constexpr uint32_t kPollsPerRest = 1;

  /// `play` must outlive the object.
  Worker(Play& play, uint32_t number, const WorkerOptions& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void set_outbox(packet::Outbox outbox) override { outbox_ = outbox; }
  void Enter() override;
  /// Completes all started tasks, for at most kDrainNs, and unbinds the processor.
  void Leave() override;
  void AtRest(uint64_t now) override;
  packet::Verdict Process(packet::Frame& frame, uint64_t now);

 private:
  /// Returns a task for a request; null if no task is free.
  Task* Accept(const Request& request, uint64_t due_ns);
  /// Hands the task to the host. Returns false if the kernel already has the maximum number of
  /// tasks.
  bool Submit(Task& task);
  /// Creates tasks for generated requests that are due.
  void MakeRequests();
  /// Runs scheduled tasks, for at most poll_ns.
  void Turn();
  /// Switches to the task that the host chooses next, as a kernel's schedule() does. `reason`
  /// applies to the task on this CPU, if there is one.
  void Switch(Reason reason);
  void Answer(Task& task);
  void Tick(uint64_t now);
  /// Publishes the worker's figures and, on CPU 0 or if `last` is set, the host's figures. Waits
  /// for the board's lock if `last` is set; otherwise, returns false if the lock is held.
  bool Publish(bool last);
  /// Runs until no task is left and, if `for_good`, no other worker can create one. Returns false
  /// on a timeout.
  bool Drain(bool for_good);
  /// Starts the generated workload. The simulated users of different workers are independent.
  void BeginWorkload(uint64_t now);
  /// Ends the current cell and starts the next one.
  void NextCell();

  uint64_t NowNs() const { return clock_.Nanoseconds(rte_rdtsc()); }

  Play& play_;
  Stage* stage_;
  const CpuId cpu_;
  const WorkerOptions options_;
  const Clock clock_;
  const uint64_t poll_cycles_;
  Processor processor_;
  packet::Outbox outbox_;
  std::optional<Workload> workload_;
  Task* current_ = nullptr;  ///< The task on this CPU, running or paused.
  bool submitted_ = false;   ///< Submitted events must be forwarded to the agent.
  uint64_t wished_ = 0;  ///< TSC time at which this CPU began to wait for a task; 0: not waiting.
  uint64_t next_tick_ = 0;
  uint64_t next_publish_ = 0;
  uint64_t cell_end_ = 0;
  bool over_ = false;  ///< The last cell has ended.
  Figures figures_;
};

}  // namespace sluice::sched

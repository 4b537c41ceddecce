// SPDX-License-Identifier: BSD-3-Clause
//
// A worker lcore: takes requests from its queue, makes tasks of them, and is a CPU that runs those
// that are chosen for it. It turns to its queue again after a bounded time, whatever runs.
//
// An engine of the loop in runtime/worker.h. Its own work is done at rest, after every poll.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include "figures.h"
#include "packet/datagram.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "processor.h"
#include "stage.h"
#include "workload.h"

namespace sluice::sched {

struct WorkerOptions {
  uint16_t port = 1025;                ///< UDP, of requests.
  uint64_t poll_ns = 10'000;           ///< Longest time between two looks at the queue.
  uint64_t runaway_ns = 1'000'000;     ///< Beyond that, until a task is cut. 0: never.
  std::optional<WorkloadOptions> own;  ///< Requests that the worker makes up itself.
  std::FILE* text = stdout;            ///< For the rows of cells that are over; null: none.
};

class Worker {
 public:
  enum DropReason : uint8_t {
    kMalformed,  ///< A header does not fit, or contradicts another.
    kFragment,
    kOptions,      ///< IPv4 options or IPv6 extension headers.
    kBadChecksum,  ///< UDP's.
    kLength,       ///< Not as long as a request is.
    kMagic,
    kVersion,
    kClass,
    kFlags,    ///< Unknown ones, or bytes that are to be zero.
    kService,  ///< More than a second is asked for.
    kTooMany,  ///< Every task is in use.
    kReasons
  };
  static constexpr std::array<std::string_view, kReasons> kDropReasons{
      "malformed",    "fragment",         "ip_options",    "bad_checksum",
      "wrong_length", "wrong_magic",      "wrong_version", "wrong_class",
      "wrong_flags",  "service_too_long", "no_task"};
  static constexpr bool kOwnFramesOnly = true;  ///< For packet::OwnFramesOnly.

  /// `play` outlives it.
  Worker(Play& play, uint32_t number, const WorkerOptions& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void set_outbox(packet::Outbox outbox) { outbox_ = outbox; }
  void Enter();
  /// Brings what was begun to its end.
  void Leave();
  void AtRest(uint64_t now);
  packet::Verdict Process(packet::Frame& frame, uint64_t now);

 private:
  /// A task for a request. Null: there is none left.
  Task* Accept(const Request& request, uint64_t due_ns);
  /// It is the host's from now on.
  bool Submit(Task& task);
  /// Requests of its own that are due.
  void MakeRequests();
  /// Runs what is chosen, for poll_ns at most.
  void Turn();
  /// schedule(): `reason` for the task that is on this CPU, if there is one.
  void Switch(Reason reason);
  void Answer(Task& task);
  void Tick(uint64_t now);
  /// Lays down figures. `last`: the host's, too, and whoever reads meanwhile.
  bool Publish(bool last);
  /// Runs until no task is left, and, for good, none can come from another worker. False: given up.
  bool Drain(bool for_good);
  /// Its users are independent of other workers'.
  void BeginWorkload(uint64_t now);
  /// What runs here is over; on with the next one.
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
  Task* current_ = nullptr;  ///< On this CPU, running or paused.
  bool submitted_ = false;   ///< Events wait to be forwarded.
  uint64_t wished_ = 0;      ///< TSC since when this CPU wants one of the tasks; 0: not.
  uint64_t next_tick_ = 0;
  uint64_t next_publish_ = 0;
  uint64_t cell_end_ = 0;
  bool over_ = false;  ///< The last cell is.
  Figures figures_;
};

}  // namespace sluice::sched

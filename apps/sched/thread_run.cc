// SPDX-License-Identifier: BSD-3-Clause
#include "thread_run.h"

#include <absl/strings/str_format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <numeric>
#include <system_error>

#include "figures.h"
#include "host/measures.h"
#include "host/run_schedule.h"
#include "host/run_signals.h"
#include "offload/wave_host.h"
#include "sched_ext/thread_host.h"

namespace sluice::sched {
namespace {

using engine::sched::Gtid;
using engine::sched::Status;
using host::Us;
using sched_ext::ThreadCounters;
using sched_ext::ThreadId;
using sched_ext::ThreadKernel;
using sched_ext::Verdict;

constexpr uint32_t kEvents = 960;        // Events in flight.
constexpr double kSearchPeriod_s = 0.2;  // Time between two searches for new threads.
constexpr int kMaxWaitMs = 10;           // The longest time without a look at agents and signals.
constexpr int kReleases = 10;            // Threads that were just created need another attempt.

using Host = sched_ext::ThreadHost<offload::WaveHost<bar::ShmWindow>>;

std::string NameOf(ThreadId thread) {
  std::ifstream comm("/proc/" + std::to_string(thread) + "/comm");
  std::string name;
  return std::getline(comm, name) ? name : "ended";
}

// Prints the decisions of a dry run, but not repetitions of the last one for a CPU.
class DecisionPrinter {
 public:
  explicit DecisionPrinter(std::FILE* text) : text_(text) {}

  void operator()(engine::sched::CpuId cpu, const engine::sched::Transaction& decision,
                  const Verdict& verdict) {
    const std::pair<Gtid, uint32_t> chosen{decision.gtid, decision.task_barrier};
    if (std::exchange(last_[cpu], chosen) == chosen) return;
    const ThreadId thread = sched_ext::ThreadOf(decision.gtid);
    // A valid decision is refused with this status.
    const bool valid = verdict.outcome.status == Status::kCpuUnavailable;
    absl::FPrintF(text_, "dry run: CPU %d: thread %d (%s): %s\n", cpu, thread, NameOf(thread),
                  valid ? "valid" : StatusName(verdict.outcome.status));
  }

 private:
  std::FILE* text_;
  std::array<std::pair<Gtid, uint32_t>, engine::sched::kMaxCpus> last_{};
};

std::string Line(const ThreadKernel& kernel, const Host& host, uint32_t agents) {
  const ThreadCounters c = kernel.counters();
  const auto& [statuses, discoveries, age] = host.counters();
  const uint64_t decisions = std::accumulate(statuses.begin(), statuses.end(), uint64_t{0});
  std::string line = absl::StrFormat(
      "threads %d; events %d; decisions %d, enforced %d, stale %d, otherwise refused %d; "
      "fall-backs %d; without an agent %d; agents %d, given up %d; age of information p50 %.0f, "
      "p99 %.0f us",
      c.threads, c.events, decisions, CountOf(statuses, Status::kComplete),
      CountOf(statuses, Status::kTargetStale),
      decisions - CountOf(statuses, Status::kComplete) - CountOf(statuses, Status::kTargetStale),
      c.fallbacks, c.local_choices, agents, c.abandoned, Us(age.Percentile(0.5)),
      Us(age.Percentile(0.99)));
  if (c.events_lost != 0) absl::StrAppendFormat(&line, "; events lost %d", c.events_lost);
  if (c.unmanaged != 0) absl::StrAppendFormat(&line, "; beyond --max_tasks %d", c.unmanaged);
  return line;
}

// Returns all managed threads to the class SCHED_OTHER.
void Release(const ThreadKernel& kernel) {
  for (int i = 0; i < kReleases; ++i) {
    if (sched_ext::MoveOutOfClass(kernel.Threads()) <= 0) return;
  }
}

void Wait(const ThreadKernel& kernel, const Doorbell& bell) {
  std::array<pollfd, 2> sources{pollfd{.fd = kernel.event_fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = bell.fd(), .events = POLLIN, .revents = 0}};
  poll(sources.data(), sources.size(), kMaxWaitMs);
  bell.Answer();
}

}  // namespace

int RunThreads(const ThreadRunOptions& options, const host::RunSettings& run) {
  host::BlockRunSignals(false);
  const offload::WaveLayout layout{.slots = options.kernel.cpus, .queue_depth = kEvents};
  auto host_window = bar::ShmWindow::Create(layout.LinesNeeded(), bar::WindowSide::kHost);
  if (!host_window) throw std::system_error(errno, std::generic_category(), "window");
  std::string error;
  const std::unique_ptr<ThreadKernel> kernel = sched_ext::StartThreadKernel(options.kernel, &error);
  if (kernel == nullptr) {
    std::fprintf(stderr, "sluice-sched: --host=sched_ext: %s\n", error.c_str());
    return 1;
  }
  const Doorbell host_bell, agent_bell;
  DoorbellWindow nic_window(host_window.Peer(), host_bell);
  offload::WaveHost<bar::ShmWindow> channel(host_window, layout, 1);
  sched_ext::DecisionObserver observer;
  if (options.kernel.dry_run) observer = DecisionPrinter(run.Text());
  Host host(*kernel, channel, options.kernel.cpus, std::move(observer));
  const SleepingAgent agent(nic_window, layout, agent_bell, options.agent);

  host::RunSchedule schedule(run.duration_s, run.stats_period_s);
  double search_at_s = 0;
  int exit_code = 0;
  while (!schedule.IsOver() && !host::StopIsPending()) {
    if (schedule.Seconds() >= search_at_s) {
      search_at_s = schedule.Seconds() + kSearchPeriod_s;
      if (sched_ext::MoveIntoClass(sched_ext::Find(options.choice)) < 0) {
        std::fprintf(stderr,
                     "sluice-sched: --host=sched_ext: no permission to change the class of "
                     "threads: run as root\n");
        exit_code = 1;
        break;
      }
    }
    if (host.Step() != 0) {
      agent_bell.Ring();
    } else {
      Wait(*kernel, host_bell);
    }
    if (schedule.LineDue()) run.Print(Line(*kernel, host, agent.agents()) + "\n");
    if (const std::string reason = kernel->end_reason(); !reason.empty()) {
      std::fprintf(stderr, "sluice-sched: the kernel ended the scheduler: %s\n", reason.c_str());
      exit_code = 1;
      break;
    }
  }
  Release(*kernel);
  run.Print(Line(*kernel, host, agent.agents()) + "\n");
  return exit_code;
}

}  // namespace sluice::sched

// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-pauses: measures the trade-off in choosing a time-out on this host: how often a live
// process is silent for longer than the time-out (a false suspicion), and how long it takes to
// detect a killed process, by a time-out and by the end of its connection. Prints Markdown.
#include <gflags/gflags.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/standard_streams.h"

DEFINE_double(duration_s, 10, "Seconds for which pauses are measured: 0.01 to 3600.");
DEFINE_uint32(kills, 10, "Processes that are killed for each way of detection: 1 to 1000.");

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShortestUs = 10;  ///< Shorter gaps are not counted as pauses.

double MicrosecondsSince(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

struct Detector {
  const char* name;
  double window_us;  ///< 0: no time-out; only the end of the connection is detected.
};
constexpr Detector kDetectors[] = {
    {"watchdog of Wave", 20'000},
    {"link of lib/swap", 10'000},
    {"1 ms", 1000},
    {"100 us", 100},
    {"silent rounds of EC_Link", 3.8},
    {"no time-out", 0},
};

/// Memory shared by a process and its watcher.
struct Shared {
  std::atomic<uint64_t> progress{0};
};

// Steps in a tight loop for `seconds`. Returns the gaps between two steps that are at least
// `shortest`; gaps are in microseconds.
std::vector<double> MeasureGaps(double seconds, double shortest) {
  std::vector<double> gaps;
  const auto begin = Clock::now();
  for (auto last = begin; MicrosecondsSince(begin, last) < seconds * 1e6;) {
    const auto now = Clock::now();
    const double gap = MicrosecondsSince(last, now);
    if (gap >= shortest) gaps.push_back(gap);
    last = now;
  }
  return gaps;
}

// Starts a process that makes progress until it is killed, and kills it after one millisecond.
// Returns the time from the kill to its detection in microseconds, or a negative number if the
// process could not be started.
double MeasureDetection(Shared& shared, double window_us) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return -1;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    while (true) shared.progress.fetch_add(1, std::memory_order_release);
  }
  close(ends[1]);
  const uint64_t first = shared.progress.load(std::memory_order_acquire);
  while (shared.progress.load(std::memory_order_acquire) == first) {
    usleep(50);
    if (waitpid(child, nullptr, WNOHANG) == child) {
      close(ends[0]);
      return -1;
    }
  }
  usleep(1000);
  const auto killed = Clock::now();
  kill(child, SIGKILL);
  auto heard = killed;
  uint64_t progress = shared.progress.load(std::memory_order_acquire);
  while (true) {
    const auto now = Clock::now();
    if (window_us == 0) {
      pollfd connection{ends[0], POLLIN | POLLHUP, 0};
      if (poll(&connection, 1, 10'000) > 0) break;
    } else if (const uint64_t next = shared.progress.load(std::memory_order_acquire);
               next != progress) {
      progress = next;
      heard = now;
    } else if (MicrosecondsSince(heard, now) > window_us) {
      break;
    }
  }
  const double detected = MicrosecondsSince(killed, Clock::now());
  waitpid(child, nullptr, 0);
  close(ends[0]);
  return detected;
}

double MedianDetection(Shared& shared, double window_us) {
  std::vector<double> times;
  for (uint32_t i = 0; i < FLAGS_kills; ++i) times.push_back(MeasureDetection(shared, window_us));
  std::sort(times.begin(), times.end());
  return times.front() < 0 ? -1 : times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  gflags::SetUsageMessage("pauses of this host, and the detection of dead processes");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (!(FLAGS_duration_s >= 0.01 && FLAGS_duration_s <= 3600)) {
    std::fprintf(stderr, "--duration_s: give 0.01 to 3600\n");
    return 2;
  }
  if (FLAGS_kills < 1 || FLAGS_kills > 1000) {
    std::fprintf(stderr, "--kills: give 1 to 1000\n");
    return 2;
  }
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("sluice-pauses: mmap");
    return 1;
  }
  Shared& shared = *new (memory) Shared;

  const std::vector<double> gaps = MeasureGaps(FLAGS_duration_s, 1);
  const auto above = [&gaps](double window_us) {
    return static_cast<double>(
        std::count_if(gaps.begin(), gaps.end(), [=](double gap) { return gap > window_us; }));
  };
  std::puts(
      "| detector | window | false suspicions per second | time until a killed process is detected "
      "|\n|---|---|---|---|");
  for (const Detector& detector : kDetectors) {
    const double detection = MedianDetection(shared, detector.window_us);
    if (detection < 0) {
      std::perror("sluice-pauses: cannot start a process");
      return 1;
    }
    if (detector.window_us == 0) {
      std::printf("| %s | end of the connection | 0 | %.0f us |\n", detector.name, detection);
    } else {
      std::printf("| %s | %g us | %.2f | %.0f us |\n", detector.name, detector.window_us,
                  above(detector.window_us) / FLAGS_duration_s, detection);
    }
  }
  // Estimates the exponent of a Pareto distribution by maximum likelihood (Hill estimator).
  double logs = 0;
  for (const double gap : gaps) logs += gap > kShortestUs ? std::log(gap / kShortestUs) : 0;
  const double pauses = above(kShortestUs);
  std::printf(
      "\n%.0f pauses above %g us in %g s: %.1f per second; exponent of a Pareto distribution %.2f; "
      "longest %.2f ms\n",
      pauses, kShortestUs, FLAGS_duration_s, pauses / FLAGS_duration_s,
      logs > 0 ? pauses / logs : 0,
      gaps.empty() ? 0 : *std::max_element(gaps.begin(), gaps.end()) / 1000);
}

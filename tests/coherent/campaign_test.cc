// SPDX-License-Identifier: BSD-3-Clause
//
// campaign_test ROUNDS [SEED]: runs a host and a NIC in separate processes. Endpoints are in sealed
// memfds, each mapped at an arbitrary address. In each round, one process is killed or frozen at a
// random instant. The invariants: no request is executed, answered or ended twice; no request or
// reply is torn; each request ends, except the one that a killed NIC was handling.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bar/ring_memory.h"
#include "coherent/host_end.h"
#include "coherent/nic_end.h"
#include "payload.h"

namespace sluice::coherent::test {
namespace {

constexpr Geometry kGeometry = {.overflow_lines = 3};
constexpr uint64_t kEndpointBytes = 4096;
constexpr uint32_t kMaxRequests = 1 << 24;
constexpr uint64_t kLeaveNs = 20'000'000;

/// Commands of the coordinator to the NIC. The NIC resets the word to kNone when it is done.
enum Command : uint32_t { kNone, kPreempt, kKill };

/// The journal of requests, in shared memory so that it survives a killed process. The process that
/// observes an event for a request sets that request's byte.
struct Journal {
  uint64_t serial;    ///< Serial of the last request.
  uint32_t endpoint;  ///< Endpoint of the current host.
  uint32_t served;    ///< Endpoint that the NIC serves.
  uint32_t command;
  uint32_t closed;   ///< 1 if the served endpoint is closed.
  uint32_t left;     ///< Number of times that a preempted host left the endpoint before the bound.
  uint32_t overdue;  ///< Number of times that a preempted host missed the bound, so that the
                     ///< endpoint was closed.
  uint32_t faults;
  uint32_t torn;   ///< Number of torn requests and replies.
  uint32_t twice;  ///< Number of requests that ended twice.
  uint8_t delivered[kMaxRequests];
  uint8_t executed[kMaxRequests];
  uint8_t answered[kMaxRequests];
  uint8_t ended[kMaxRequests];
};

template <typename T>
T Get(T& shared) {
  return std::atomic_ref(shared).load();
}
template <typename T>
void Set(T& shared, T value) {
  std::atomic_ref(shared).store(value);
}
template <typename T>
T Count(T& shared) {
  return std::atomic_ref(shared).fetch_add(1);
}

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  _exit(1);
}

/// Maps a file that another process created.
bar::RingMemory Open(const bar::RingMemory& file) {
  bar::RingMemory mapped =
      bar::RingMemory::FromFile(fcntl(file.fd(), F_DUPFD_CLOEXEC, 0), file.bytes(), false);
  if (!mapped) Die("map");
  return mapped;
}

EndpointMemory Find(const bar::RingMemory& mapped) {
  const EndpointMemory memory = EndpointMemory::Find({mapped.data(), mapped.bytes()});
  if (!memory) Die("no endpoint");
  return memory;
}

[[noreturn]] void RunHost(const bar::RingMemory& file, Journal& journal) {
  const bar::RingMemory mapped = Open(file);
  HostEnd host(Find(mapped), WaitMethod::kPause);
  for (;;) {
    switch (host.Wait(20'000)) {
      case Got::kContent: {
        const uint64_t serial = host.content().code;
        if (serial >= kMaxRequests) Die("serial");
        Count(journal.executed[serial]);
        if (!IsWhole(host.payload(), serial, RequestLength(serial))) Count(journal.torn);
        Fill(host.Room(), ~serial, ReplyLength(serial));
        host.Return({.kind = Kind::kReply, .length = ReplyLength(serial), .code = serial});
        break;
      }
      case Got::kClosed:
        _exit(0);
      default:
        sched_yield();
    }
  }
}

class Nic {
 public:
  Nic(const std::vector<bar::RingMemory>& files, Journal& journal)
      : files_(files), journal_(journal) {
    Serve(Get(journal.served));
  }

  [[noreturn]] void Run() {
    for (uint32_t turn = 0;; ++turn) {
      Look();
      Obey();
      if (end_->Waits(Pair::kReceive)) {
        Deliver();
      } else if (turn % 64 == 0) {
        sched_yield();
      }
    }
  }

 private:
  void Serve(uint32_t endpoint) {
    mapped_ = Open(files_[endpoint]);
    end_.emplace(Find(mapped_), NicOptions{.try_again_ns = 500'000, .leave_ns = kLeaveNs}, NowNs());
    served_ = endpoint;
    Set(journal_.served, endpoint);
  }

  void Look() {
    switch (end_->Look(Pair::kReceive, NowNs())) {
      case Seen::kReturned:
        return Returned();
      case Seen::kLeft:
        Count(journal_.left);
        end_->Resume();
        return;
      case Seen::kOverdue:
        Count(journal_.overdue);
        return;
      case Seen::kFault:
        Count(journal_.faults);
        return;
      default:
        return;
    }
  }

  void Returned() {
    const coherent::Returned& back = end_->returned(Pair::kReceive);
    if (!back.tag) return;  // Delivered by an earlier NIC: do not count it.
    if (back.kind == Kind::kReply) {
      const bool whole =
          back.status == *back.tag && IsWhole(back.payload, ~*back.tag, ReplyLength(*back.tag));
      if (!whole) Count(journal_.torn);
      Count(journal_.answered[*back.tag]);
    } else if (back.kind == Kind::kNone) {
      Count(journal_.torn);
    }
    End(*back.tag);
  }

  void End(uint64_t serial) {
    if (Count(journal_.ended[serial]) != 0) Count(journal_.twice);
  }

  void Obey() {
    GoToNext();
    const uint32_t command = Get(journal_.command);
    if (command == kPreempt) end_->Preempt(NowNs());
    if (command == kKill) end_->Kill();
    GoToNext();
    Set(journal_.closed, uint32_t{end_->closed()});
    if (command != kNone) Set(journal_.command, uint32_t{kNone});
  }
  /// Continues with the next endpoint if this one is closed: the next host process has separate
  /// memory.
  void GoToNext() {
    if (!end_->closed()) return;
    if (const std::optional<uint64_t> lost = end_->ConsumeLost(Pair::kReceive)) End(*lost);
    if (Get(journal_.endpoint) > served_) Serve(Get(journal_.endpoint));
  }

  void Deliver() {
    const uint64_t serial = Get(journal_.serial) + 1;
    if (serial >= kMaxRequests) Die("too many requests");
    Set(journal_.serial, serial);
    Set(journal_.delivered[serial], uint8_t{1});
    Fill(end_->Room(Pair::kReceive), serial, RequestLength(serial));
    if (!end_->Deliver(Pair::kReceive,
                       {.kind = Kind::kRequest, .length = RequestLength(serial), .code = serial}, 0,
                       serial)) {
      Die("deliver");
    }
  }

  const std::vector<bar::RingMemory>& files_;
  Journal& journal_;
  bar::RingMemory mapped_;
  std::optional<NicEnd> end_;
  uint32_t served_ = 0;
};

class Campaign {
 public:
  Campaign(uint32_t rounds, uint32_t seed)
      : journal_file_(bar::RingMemory::Create((sizeof(Journal) + 4095) / 4096 * 4096, false,
                                              bar::RingMemory::Pages::kPreferHuge)),
        rounds_(rounds),
        random_(seed) {
    if (!journal_file_) Die("journal");
    // One endpoint file for each host process that may run.
    for (uint32_t i = 0; i <= 2 * rounds + 3; ++i) {
      files_.push_back(
          bar::RingMemory::Create(kEndpointBytes, false, bar::RingMemory::Pages::kPreferHuge));
      if (!files_.back()) Die("memfd");
      EndpointMemory::Format({files_.back().data(), files_.back().bytes()}, kGeometry);
    }
  }

  int Run() {
    StartNic();
    StartHost();
    for (uint32_t round = 0; round < rounds_; ++round) {
      Sleep(random_() % 4000);
      Revive();
      Round(round % 6);
    }
    const uint64_t before = Get(journal().serial);
    bool alive = false;
    for (int look = 0; look < 1000 && !alive; ++look) {
      Sleep(5000);
      Revive();  // The last round may have closed the endpoint.
      alive = Get(journal().serial) > before;
    }
    Stop(nic_);
    Stop(host_);
    return Judge(alive);
  }

 private:
  Journal& journal() { return *reinterpret_cast<Journal*>(journal_file_.data()); }
  static void Sleep(uint64_t us) { usleep(static_cast<useconds_t>(us)); }

  void Round(uint32_t event) {
    switch (event) {
      case 0:  // Kills the host and reports its death to the NIC, as a supervisor does.
        Stop(host_);
        Command(kKill);
        return StartHost();
      case 1:  // Freezes the host, preempts it, and continues it after the bound.
        return Freeze(host_, [&] { PreemptFrozen(); });
      case 2:  // Kills the NIC. The next NIC continues from the shared memory.
        ++nic_kills_;
        Stop(nic_);
        return StartNic();
      case 3:  // Freezes the NIC. The host has no timeout.
        return Freeze(nic_, [&] { Sleep(random_() % 3000); });
      case 4:  // Freezes the host for a while.
        return Freeze(host_, [&] { Sleep(random_() % 3000); });
      default:  // Preempts a running host, which leaves the endpoint in time.
        Command(kPreempt);
        return;
    }
  }

  /// Returns 0 in the child. The child is killed when its parent dies.
  static pid_t Fork() {
    const pid_t process = fork();
    if (process < 0) Die("fork");
    if (process == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return process;
  }
  void StartNic() {
    nic_ = Fork();
    if (nic_ == 0) Nic(files_, journal()).Run();
  }
  void StartHost() {
    const uint32_t endpoint = ++hosts_;
    host_ = Fork();
    if (host_ == 0) RunHost(files_[endpoint - 1], journal());
    Set(journal().endpoint, endpoint - 1);
  }
  static void Stop(pid_t process) {
    kill(process, SIGKILL);
    if (waitpid(process, nullptr, 0) != process) Die("waitpid");
  }
  /// Stops a process, calls `meanwhile`, and continues the process. Does nothing for a host that
  /// has exited.
  template <typename Meanwhile>
  void Freeze(pid_t process, Meanwhile meanwhile) {
    kill(process, SIGSTOP);
    int status = 0;
    if (waitpid(process, &status, WUNTRACED) != process) Die("waitpid");
    if (!WIFSTOPPED(status)) return StartHost();
    meanwhile();
    kill(process, SIGCONT);
  }
  /// Starts the next host if the current host has exited. A host exits when its endpoint is closed
  /// because the host was preempted and did not run before the bound.
  void Revive() {
    if (waitpid(host_, nullptr, WNOHANG) == host_) StartHost();
  }
  void Command(uint32_t command) {
    Set(journal().command, command);
    WaitFor([&] { return Get(journal().command) == kNone; }, "the NIC obeys");
  }
  /// Preempts a frozen host. The NIC closes the endpoint at the bound, unless the host had left
  /// before it froze.
  void PreemptFrozen() {
    const uint32_t left = Get(journal().left), overdue = Get(journal().overdue);
    Command(kPreempt);
    WaitFor(
        [&] {
          return Get(journal().left) > left || Get(journal().overdue) > overdue ||
                 Get(journal().closed) != 0;
        },
        "a frozen host is closed");
  }
  template <typename Done>
  static void WaitFor(Done done, const char* what) {
    const uint64_t deadline = NowNs() + 20'000'000'000;
    while (!done()) {
      if (NowNs() > deadline) {
        std::fprintf(stderr, "in vain: %s\n", what);
        std::exit(1);
      }
      Sleep(200);
    }
  }

  int Judge(bool alive) {
    Journal& seen = journal();
    uint64_t delivered = 0, executed = 0, answered = 0, unended = 0, twice = seen.twice;
    for (uint32_t serial = 1; serial <= seen.serial; ++serial) {
      delivered += seen.delivered[serial];
      executed += seen.executed[serial] != 0;
      answered += seen.answered[serial] != 0;
      twice += (seen.executed[serial] > 1) + (seen.answered[serial] > 1);
      twice += seen.answered[serial] > seen.executed[serial];  // Answered but never executed.
      unended += seen.delivered[serial] != 0 && seen.ended[serial] == 0;
    }
    std::printf(
        "%u rounds: %llu requests, %llu executed, %llu answered; %llu twice, %u torn, %llu without "
        "an outcome (%u NIC kills); left %u, closed at the bound %u, faults %u\n",
        rounds_, static_cast<unsigned long long>(delivered),
        static_cast<unsigned long long>(executed), static_cast<unsigned long long>(answered),
        static_cast<unsigned long long>(twice), seen.torn, static_cast<unsigned long long>(unended),
        nic_kills_, seen.left, seen.overdue, seen.faults);
    // The final stop of the NIC may also interrupt a request.
    const bool right = alive && twice == 0 && seen.torn == 0 && seen.faults == 0 &&
                       unended <= nic_kills_ + 1 && answered > rounds_ && seen.left > 0 &&
                       seen.overdue > 0;
    if (!right) std::fprintf(stderr, "wrong%s\n", alive ? "" : ": no progress at the end");
    return right ? 0 : 1;
  }

  bar::RingMemory journal_file_;
  std::vector<bar::RingMemory> files_;
  uint32_t rounds_;
  std::mt19937 random_;
  uint32_t hosts_ = 0;
  uint32_t nic_kills_ = 0;
  pid_t host_ = -1, nic_ = -1;
};

}  // namespace
}  // namespace sluice::coherent::test

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned long otherwise) {
    return static_cast<uint32_t>(argc > at ? std::strtoul(argv[at], nullptr, 10) : otherwise);
  };
  return sluice::coherent::test::Campaign(number(1, 40), number(2, 1)).Run();
}

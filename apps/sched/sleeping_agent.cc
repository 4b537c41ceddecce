// SPDX-License-Identifier: BSD-3-Clause
#include "sleeping_agent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/monotonic_clock.h"
#include "offload/wave_nic.h"

namespace sluice::sched {
namespace {

// Longest sleep of an idle agent. Policies end time slices at this accuracy.
constexpr int kSleepMs = 1;

}  // namespace

Doorbell::Doorbell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}
Doorbell::~Doorbell() { close(fd_); }

void Doorbell::Ring() const {
  const uint64_t one = 1;
  // A write fails only if the counter is at its maximum, and then the descriptor is readable.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
}

void Doorbell::Answer() const {
  uint64_t rings = 0;
  [[maybe_unused]] const ssize_t got = read(fd_, &rings, sizeof(rings));  // Fails without a ring.
}

SleepingAgent::SleepingAgent(DoorbellWindow& window, const offload::WaveLayout& layout,
                             const Doorbell& bell, const SleepingAgentOptions& options)
    : window_(window), layout_(layout), bell_(bell), options_(options), thread_([this] {
        Run();
      }) {}

SleepingAgent::~SleepingAgent() {
  stop_.store(true);
  bell_.Ring();
  thread_.join();
}

std::unique_ptr<AgentSide> SleepingAgent::NewAgent() {
  const uint32_t incarnation = agents_.fetch_add(1, std::memory_order_relaxed) + 1;
  return MakeAgent<offload::WaveNic<DoorbellWindow>>(options_.policy, options_.policy_options,
                                                     window_, layout_, incarnation, options_.agent);
}

void SleepingAgent::Sleep(int milliseconds) const {
  pollfd bell{.fd = bell_.fd(), .events = POLLIN, .revents = 0};
  poll(&bell, 1, milliseconds);
  bell_.Answer();
}

void SleepingAgent::Run() {
  pthread_setname_np(pthread_self(), "sched-agent");
  const engine::sched::Nanoseconds begin = base::MonotonicNs();
  bool healthy = !options_.fault;
  std::unique_ptr<AgentSide> agent = NewAgent();
  while (!stop_.load(std::memory_order_relaxed)) {
    const engine::sched::Nanoseconds now = base::MonotonicNs();
    if (!healthy && static_cast<double>(now - begin) / 1e9 >= options_.fault->after_s) {
      healthy = true;
      if (options_.fault->kind != AgentFault::Kind::kFreeze) agent.reset();
      while (options_.fault->kind != AgentFault::Kind::kReplace && !stop_.load() &&
             base::MonotonicNs() - now < options_.down) {
        Sleep(kSleepMs);
      }
      if (agent == nullptr) agent = NewAgent();
    }
    if (agent->Step(base::MonotonicNs()) == 0) Sleep(kSleepMs);
  }
}

}  // namespace sluice::sched

// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler.h"

#include <atomic>
#include <cerrno>
#include <system_error>

#include "agent_of.h"
#include "engine/sched/policies/all.h"
#include "offload/layout.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::sched {
namespace {

using engine::sched::AgentOptions;
using engine::sched::Kernel;
using engine::sched::PolicyOptions;
using engine::sched::SchedHost;

// Maximum number of events in flight: those of a burst of requests, and those that earlier requests
// cause in the meantime.
constexpr uint32_t kWaveEvents = 1024;
constexpr uint32_t kSwapEvents = 256;

// A channel without a peer.
struct NoChannel {
  bool Send(const offload::Item&) { return true; }
  bool Ask(offload::Slot, const offload::Item&) { return true; }
  void Flush() {}
  uint32_t room() { return 0; }
  void Prefetch(offload::Slot) {}
  bool Look(offload::Slot, offload::Item&) { return false; }
  void Lose() {}
  bool PollRestart() { return false; }
  template <offload::Judge J>
  offload::Decided Decide(offload::Slot, J&) {
    return offload::Decided::kNone;
  }
  uint64_t overflows() const { return 0; }
  uint64_t faults() const { return 0; }
};

template <typename C>
class HostOf final : public HostSide {
 public:
  HostOf(Kernel& kernel, C& channel, Nanoseconds watchdog)
      : channel_(channel), host_(kernel, channel, {.watchdog = watchdog}) {}

  void Forward() override { host_.Forward(); }
  void BeginSwitch(CpuId cpu, Reason reason, Nanoseconds now) override {
    host_.BeginSwitch(cpu, reason, now);
  }
  Gtid EndSwitch(CpuId cpu, Nanoseconds now) override { return host_.EndSwitch(cpu, now); }
  bool Look(CpuId cpu, Nanoseconds now) override { return host_.Look(cpu, now); }
  void Tick(Nanoseconds now) override { host_.Tick(now); }
  const engine::sched::HostCounters& counters() const override { return host_.counters(); }
  uint64_t overflows() const override { return channel_.overflows(); }
  uint64_t faults() const override { return channel_.faults(); }

 private:
  C& channel_;
  SchedHost<C> host_;
};

class LocalScheduler final : public Scheduler {
 public:
  explicit LocalScheduler(Kernel& kernel) : host_(kernel, channel_, 0) {}
  HostSide& host() override { return host_; }
  std::unique_ptr<AgentSide> NewAgent() override { return nullptr; }

 private:
  NoChannel channel_;
  HostOf<NoChannel> host_;
};

template <typename HostEnd, typename NicEnd, typename Layout>
class ChannelScheduler final : public Scheduler {
 public:
  ChannelScheduler(const SchedulerOptions& options, const Layout& layout, bool prestage,
                   Kernel& kernel, std::span<ProcessorSlot> processors)
      : options_(options),
        layout_(layout),
        prestage_(prestage),
        host_window_(bar::ShmWindow::Create(layout.LinesNeeded(), bar::WindowSide::kHost),
                     processors),
        nic_window_(host_window_ ? host_window_.Peer() : bar::ShmWindow(), processors),
        channel_((Check(), host_window_), layout, 1),
        host_(kernel, channel_, options.watchdog) {}

  HostSide& host() override { return host_; }
  std::unique_ptr<AgentSide> NewAgent() override {
    const AgentOptions agent{
        .cpus = options_.cpus, .max_tasks = options_.max_tasks, .prestage = prestage_};
    const PolicyOptions policy_options{.cpus = options_.cpus, .slice = options_.slice};
    return MakeAgent<NicEnd>(options_.policy, policy_options, nic_window_, layout_, ++incarnation_,
                             agent);
  }

 private:
  void Check() const {
    if (!host_window_) throw std::system_error(errno, std::generic_category(), "window");
  }

  SchedulerOptions options_;
  Layout layout_;
  bool prestage_;
  /// Number of agent ends created so far; used only by the thread that creates them.
  uint32_t incarnation_ = 0;
  ModelWindow host_window_;
  ModelWindow nic_window_;
  HostEnd channel_;
  HostOf<HostEnd> host_;
};

}  // namespace

std::span<const std::string_view> PolicyNames() { return engine::sched::kPolicyNames; }

std::unique_ptr<Scheduler> MakeScheduler(const SchedulerOptions& options, Kernel& kernel,
                                         std::span<ProcessorSlot> processors) {
  using offload::SwapLayout;
  using offload::WaveLayout;
  using WaveScheduler =
      ChannelScheduler<offload::WaveHost<ModelWindow>, offload::WaveNic<ModelWindow>, WaveLayout>;
  using SwapScheduler =
      ChannelScheduler<offload::SwapHost<ModelWindow>, offload::SwapNic<ModelWindow>, SwapLayout>;
  if (options.mode == "local") return std::make_unique<LocalScheduler>(kernel);
  const bool prestage = options.mode == "wave-prestage" || options.mode == "swap-standing";
  if (options.mode.starts_with("wave")) {
    const WaveLayout layout{.slots = options.cpus, .queue_depth = kWaveEvents};
    return std::make_unique<WaveScheduler>(options, layout, prestage, kernel, processors);
  }
  const SwapLayout layout{.slots = options.cpus, .queue_depth = kSwapEvents, .asks = !prestage};
  return std::make_unique<SwapScheduler>(options, layout, prestage, kernel, processors);
}

}  // namespace sluice::sched

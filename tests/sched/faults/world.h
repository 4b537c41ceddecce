// SPDX-License-Identifier: BSD-3-Clause
//
// A host with all events that can affect it, a channel, and agents that freeze, die and are
// replaced, in one thread. A seed determines the moves. The world records which tasks are alive and
// on which CPUs, independently of the kernel, and compares its records with the kernel's.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "bar/shm_window.h"
#include "engine/sched/agent.h"
#include "engine/sched/host.h"
#include "engine/sched/kernel.h"
#include "engine/sched/kernel_checker.h"
#include "faulty_window.h"

namespace sluice::engine::sched {

struct WorldOptions {
  uint64_t seed = 1;
  CpuId cpus = 1;  ///< Number of CPUs, at most 4. It must equal the policy's number of CPUs.
  bool prestage = false;
  bool agent_faults = true;  ///< Set if agents freeze, die and are replaced.
  bool window_faults =
      false;  ///< Set if links die and bits flip. Afterwards, the window is rebuilt.
};

/// Counts of a run.
struct WorldCounts {
  uint64_t steps = 0;
  uint64_t ran = 0;  ///< Switches to a task.
  uint64_t agent_deaths = 0;
  uint64_t freezes = 0;
  uint64_t window_resets = 0;
  uint64_t overflows = 0;
  HostCounters host;
};

template <typename HostEnd, typename NicEnd, typename Layout, typename P>
class World {
 public:
  World(const P& policy, const WorldOptions& options)
      : options_(options),
        policy_(policy),
        random_(options.seed),
        cpus_(options.cpus),
        kernel_({.cpus = cpus_, .max_tasks = kTasks}),
        layout_{.slots = cpus_, .queue_depth = Pick({3, 8, 40})},
        memory_(bar::ShmWindow::BytesNeeded(layout_.LinesNeeded()) + 4096) {
    faults_.random.seed(options.seed + 1);
    faults_.before_access = [this](bar::WindowSide side, bool read) { LetOthersRun(side, read); };
    MakeWindow();
    host_.emplace(kernel_, *host_end_, HostOptions{});
    StartAgent();
  }

  /// Makes one move. Returns an error, or null.
  const char* Step() {
    ++counts_.steps;
    now_ += random_() % 16 == 0 ? random_() % 3'000'000 : random_() % 3000;
    Move();
    return Check();
  }

  /// Disables faults, and starts a new agent if there were any faults. Wakes blocked tasks and lets
  /// running tasks end. Returns null if every task ran and ended because of the agent's decisions,
  /// and an error otherwise.
  const char* Finish() {
    faults_.dead = false;
    faults_.flip_permille = 0;
    if (options_.window_faults) MakeWindow();
    const bool another = options_.agent_faults || options_.window_faults;
    if (another) StartAgent();
    for (CpuId cpu = 0; cpu < cpus_; ++cpu) {
      kernel_.SetOnline(cpu, true, now_);
      kernel_.SetBusyElsewhere(cpu, false, now_);
    }
    finishing_ = true;
    // The host's watchdog may still expire before the agent knows all tasks and CPUs.
    const uint64_t discoveries = host_->counters().discoveries;
    uint64_t given_up = 0;
    for (int i = 0; i < 300'000 && kernel_.live_tasks() != 0; ++i) {
      if (another ? host_->counters().discoveries == discoveries : i < 5000) {
        given_up = host_->counters().watchdog_expired;
      }
      now_ += random_() % 2000;
      switch (random_() % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
          StepAgent();
          break;
        case 4:
        case 5:
        case 6:
          AsHost([this] { host_->Tick(now_); });
          break;
        case 7:
          if (Chance(100)) WakeSomebody();
          break;
        default:
          RunCpu(AnyCpu());
      }
      if (const char* wrong = Check()) return wrong;
    }
    if (host_->counters().watchdog_expired != given_up) return "the agent forgot a task";
    return kernel_.live_tasks() == 0 ? nullptr : "a task was lost";
  }

  WorldCounts counts() const {
    WorldCounts counts = counts_;
    counts.host = host_->counters();
    counts.overflows += host_end_->overflows();
    return counts;
  }

 private:
  static constexpr CpuId kCpus = 4;
  static constexpr uint32_t kTasks = 20;
  static constexpr int kNowhere = -1;
  static constexpr int kDepth = 3;  ///< Maximum depth of nested interruptions.

  /// The recorded state of a task.
  struct Account {
    bool departed = false;
    bool runnable = true;
    int cpu = kNowhere;
    CpuMask affinity = 0;
  };

  uint32_t Pick(std::initializer_list<uint32_t> values) {
    return values.begin()[random_() % values.size()];
  }
  CpuId AnyCpu() { return static_cast<CpuId>(random_() % cpus_); }
  Gtid AnyTask() {
    if (tasks_.empty()) return kNoTask;
    auto at = tasks_.begin();
    std::advance(at, random_() % tasks_.size());
    return at->first;
  }
  bool Chance(uint32_t permille) { return random_() % 1000 < permille; }

  void MakeWindow() {
    depth_ += kDepth;  // Disables nested moves.
    if (host_end_) counts_.overflows += host_end_->overflows();
    agent_.reset();
    nic_end_.reset();
    host_end_.reset();
    std::memset(Memory(), 0, memory_.size() - 4096);
    const uint32_t lines = layout_.LinesNeeded();
    const auto shm = bar::ShmWindow::CreateIn(Memory(), bar::ShmWindow::BytesNeeded(lines), lines,
                                              bar::WindowSide::kHost);
    host_window_.emplace(shm, bar::WindowSide::kHost, faults_);
    nic_window_.emplace(shm.Peer(), bar::WindowSide::kNic, faults_);
    // The new end has the same address, because the host keeps a reference to it.
    host_end_.emplace(*host_window_, layout_, ++incarnation_);
    depth_ -= kDepth;
  }
  uint8_t* Memory() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (4096 - address % 4096) % 4096;
  }

  void StartAgent() {
    depth_ += kDepth;
    agent_.reset();
    nic_end_.reset();
    nic_end_.emplace(*nic_window_, layout_, ++incarnation_);
    agent_.emplace(policy_, *nic_end_,
                   AgentOptions{.cpus = cpus_, .max_tasks = 64, .prestage = options_.prestage});
    frozen_until_ = 0;
    depth_ -= kDepth;
  }

  void StepAgent() {
    if (!agent_ || now_ < frozen_until_) return;
    in_agent_ = true;
    agent_->Step(now_, 1 + static_cast<uint32_t>(random_() % 8));
    in_agent_ = false;
  }

  /// Called before an access to the window. May first make moves for other parties. The host's CPUs
  /// run only while one of them waits for a read.
  void LetOthersRun(bar::WindowSide side, bool read) {
    if (depth_ >= kDepth || !Chance(60)) return;
    ++depth_;
    if (!in_agent_ && Chance(500)) {
      StepAgent();
    } else if (side == bar::WindowSide::kHost ? read : !in_host_) {
      RunCpu(AnyCpu());
    }
    --depth_;
  }

  /// Makes the next step of one of the host's CPUs.
  void RunCpu(CpuId cpu) {
    CpuAccount& c = accounts_[cpu];
    if (c.entered) return;  // This CPU is inside a host call that is being interrupted.
    c.entered = true;
    AsHost([&] {
      if (c.switching) {
        c.switching = false;
        Ran(cpu, host_->EndSwitch(cpu, now_));
      } else if (const bool wanted = host_->Look(cpu, now_); wanted || Chance(300)) {
        Schedule(cpu, wanted);
      }
    });
    c.entered = false;
  }

  template <typename F>
  void AsHost(F call) {
    const bool outer = std::exchange(in_host_, true);
    call();
    in_host_ = outer;
  }

  void Schedule(CpuId cpu, bool wanted) {
    const Gtid current = kernel_.cpu(cpu).current;
    Reason reason = Reason::kIdle;
    if (current != kNoTask) {
      constexpr std::array kReasons = {Reason::kBlock, Reason::kYield, Reason::kPreempt,
                                       Reason::kBlock, Reason::kExit};
      const bool ends = finishing_ && Chance(500);
      reason = ends     ? Reason::kExit
               : wanted ? Reason::kPreempt
                        : kReasons[random_() % kReasons.size()];
      const auto at = tasks_.find(current);
      at->second.cpu = kNowhere;
      if (reason == Reason::kBlock) at->second.runnable = false;
      if (reason == Reason::kExit) tasks_.erase(at);
    }
    accounts_[cpu].switching = true;
    host_->BeginSwitch(cpu, reason, now_);
  }

  void Ran(CpuId cpu, Gtid gtid) {
    if (gtid == kNoTask) return;
    ++counts_.ran;
    const auto at = tasks_.find(gtid);
    if (at == tasks_.end()) return Complain("a task ran after its end");
    Account& task = at->second;
    if (task.departed) return Complain("a task ran after it departed");
    if (!task.runnable) return Complain("a blocked task ran");
    if (task.cpu != kNowhere) return Complain("a task ran twice");
    if ((task.affinity & MaskOf(cpu)) == 0) return Complain("a task ran where it must not");
    task.cpu = cpu;
  }

  void Complain(const char* what) { wrong_ = what; }

  void Move() {
    const uint64_t move = random_() % 100;
    if (move < 40) return RunCpu(AnyCpu());
    if (move < 65) return StepAgent();
    if (move < 70) return AsHost([this] { host_->Tick(now_); });
    if (move < 95) {
      Happen();
      // The host may forward the event later.
      if (Chance(800)) AsHost([this] { host_->Forward(); });
      return;
    }
    if (options_.agent_faults && Chance(150)) return HurtAgent();
    if (options_.window_faults && Chance(200)) return HurtWindow();
  }

  /// Makes an event happen that is independent of an agent's decision.
  void Happen() {
    const Gtid gtid = AnyTask();
    const CpuId cpu = AnyCpu();
    const auto at = tasks_.find(gtid);
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
        return Create();
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
        return WakeSomebody();
      case 8:  // The task is killed.
        if (gtid == kNoTask || !Chance(400)) return;
        if (!kernel_.Exit(gtid, now_)) Complain("a living task could not end");
        tasks_.erase(at);
        return;
      case 9: {
        if (gtid == kNoTask || at->second.departed) return;
        CpuMask affinity = random_() % (uint64_t{1} << cpus_);
        if (Chance(500)) affinity = ~uint64_t{0};
        if (!kernel_.SetAffinity(gtid, affinity, now_)) return;
        Account& task = at->second;
        task.affinity = affinity;
        if (task.cpu != kNowhere && (affinity & MaskOf(static_cast<CpuId>(task.cpu))) == 0) {
          task.cpu = kNowhere;
        }
        return;
      }
      case 10:
        if (gtid == kNoTask || !Chance(200) || !kernel_.Depart(gtid, now_)) return;
        at->second.departed = true;
        at->second.cpu = kNowhere;
        return;
      case 11:
        return kernel_.DepartureSeen(gtid);
      case 12:
      case 13:
        kernel_.SetBusyElsewhere(cpu, Chance(300), now_);
        return LeaveIfUnavailable(cpu);
      case 14:
      case 15:
        kernel_.SetOnline(cpu, Chance(800), now_);
        return LeaveIfUnavailable(cpu);
    }
  }

  void WakeSomebody() {
    const Gtid gtid = AnyTask();
    if (!kernel_.Wake(gtid, Chance(500), now_)) return;
    Account& task = tasks_.find(gtid)->second;
    if (task.runnable || task.departed) Complain("woken, but was not blocked");
    task.runnable = true;
  }

  void Create() {
    Account task;
    task.affinity = Chance(700) ? ~uint64_t{0} : random_() % (uint64_t{1} << cpus_);
    task.runnable = Chance(700);
    const Gtid gtid = kernel_.Create({.task_class = static_cast<uint8_t>(random_() % 3),
                                      .group = static_cast<uint16_t>(random_() % 3),
                                      .affinity = task.affinity,
                                      .runnable = task.runnable},
                                     now_);
    if (gtid == kNoTask) return;
    if (!names_.insert(gtid).second) Complain("a name was used again");
    tasks_.emplace(gtid, task);
  }

  void LeaveIfUnavailable(CpuId cpu) {
    if (kernel_.cpu(cpu).available()) return;
    for (auto& [gtid, task] : tasks_) {
      if (task.cpu == cpu) task.cpu = kNowhere;
    }
  }

  void HurtAgent() {
    if (!agent_) return StartAgent();
    switch (random_() % 3) {
      case 0:
        ++counts_.freezes;
        frozen_until_ = now_ + random_() % 60'000'000;
        return;
      case 1:
        ++counts_.agent_deaths;
        agent_.reset();  // The agent is dead until it is replaced.
        return;
      default:
        ++counts_.agent_deaths;
        return StartAgent();
    }
  }

  void HurtWindow() {
    if (faults_.dead || faults_.flip_permille != 0 || scribbled_) {
      faults_.dead = scribbled_ = false;
      faults_.flip_permille = 0;
      ++counts_.window_resets;
      MakeWindow();
      return StartAgent();
    }
    switch (random_() % 3) {
      case 0:
        faults_.dead = true;
        return;
      case 1:
        faults_.flip_permille = Pick({1, 30, 300});
        return;
      default:
        return Scribble();
    }
  }

  /// Corrupts existing lines by flipping bits or by setting complete lines to ones.
  void Scribble() {
    scribbled_ = true;
    constexpr size_t kLineStride = 128;
    const size_t lines = bar::ShmWindow::BytesNeeded(layout_.LinesNeeded()) / kLineStride;
    for (uint64_t i = 1 + random_() % 8; i != 0; --i) {
      // Skips the header.
      uint8_t* const line = Memory() + (1 + random_() % (lines - 1)) * kLineStride;
      if (Chance(300)) {
        std::memset(line, 0xff, bar::kLineBytes);
      } else {
        line[random_() % bar::kLineBytes] ^= static_cast<uint8_t>(1u << random_() % 8);
      }
    }
  }

  const char* Check() {
    if (wrong_ != nullptr) return wrong_;
    if (const char* violation = Violation(kernel_)) return violation;
    if (agent_) {
      if (const char* violation = agent_->Violation()) return violation;
    }
    uint32_t live = 0;
    for (const auto& [gtid, account] : tasks_) {
      const Task* task = kernel_.Find(gtid);
      if (task == nullptr || task->state == TaskState::kDead) return "a task is lost";
      if (account.departed) continue;
      ++live;
      const TaskState expected = account.cpu != kNowhere ? TaskState::kOnCpu
                                 : account.runnable      ? TaskState::kRunnable
                                                         : TaskState::kBlocked;
      if (task->state != expected) return "a task is not in the state that its life led to";
      if (account.cpu != kNowhere && task->cpu != account.cpu) return "a task is on another CPU";
    }
    if (live != kernel_.live_tasks()) return "unknown tasks exist";
    return nullptr;
  }

  struct CpuAccount {
    bool switching = false;  ///< Between BeginSwitch and EndSwitch.
    bool entered = false;    ///< Inside a call to the host.
  };

  WorldOptions options_;
  P policy_;
  std::mt19937_64 random_;
  CpuId cpus_;
  Kernel kernel_;
  Layout layout_;
  std::vector<uint8_t> memory_;
  WindowFaults faults_;
  std::optional<FaultyWindow> host_window_;
  std::optional<FaultyWindow> nic_window_;
  std::optional<HostEnd> host_end_;
  std::optional<NicEnd> nic_end_;
  std::optional<SchedHost<HostEnd>> host_;
  std::optional<Agent<P, NicEnd>> agent_;
  uint32_t incarnation_ = 0;
  std::map<Gtid, Account> tasks_;
  std::set<Gtid> names_;  ///< All names ever assigned.
  std::array<CpuAccount, kCpus> accounts_;
  Nanoseconds now_ = 1;
  Nanoseconds frozen_until_ = 0;
  bool finishing_ = false;
  bool scribbled_ = false;
  bool in_agent_ = false;
  bool in_host_ = false;
  int depth_ = 0;
  const char* wrong_ = nullptr;
  WorldCounts counts_;
};

}  // namespace sluice::engine::sched

// SPDX-License-Identifier: BSD-3-Clause
#include "system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/counter_rows.h"
#include "base/monotonic_clock.h"
#include "cpu/clock.h"

namespace sluice::chain_app {
namespace {

using device::stage::LinkMemory;

constexpr size_t kLinkBytes = (sizeof(LinkMemory) + 4095) / 4096 * 4096;

bool MakeLink(bar::RingMemory* memory, std::string* error) {
  *memory = bar::RingMemory::Create(kLinkBytes, false, bar::RingMemory::Pages::kPreferHuge);
  if (!*memory) *error = std::string("no memory for a link: ") + std::strerror(errno);
  return static_cast<bool>(*memory);
}

LinkMemory& LinkIn(const bar::RingMemory& memory) {
  return *reinterpret_cast<LinkMemory*>(memory.data());
}

void AddTo(Operations& sum, const Operations& more) {
  sum.writes += more.writes;
  sum.reads += more.reads;
  sum.completions += more.completions;
  sum.bytes += more.bytes;
}

/// Returns the chains that the flows enter in this graph.
std::vector<std::string> ChainsOf(const engine::chain::Graph& graph,
                                  const std::vector<engine::chain::FlowMatch>& flows) {
  std::vector<std::string> chains;
  for (const auto flow : flows) {
    const auto* const chain = engine::chain::ChainOf(graph, flow);
    if (chain != nullptr && std::ranges::find(chains, chain->name) == chains.end())
      chains.push_back(chain->name);
  }
  return chains;
}

using engine::chain::Change;

constexpr auto kChangeNames = base::Names<Change, 4>({{Change::kKept, "kept"},
                                                      {Change::kRewired, "rewired"},
                                                      {Change::kOpened, "opened"},
                                                      {Change::kClosed, "closed"}});

}  // namespace

System::System(const ChainSettings& settings) : settings_(settings) {}

System::~System() {
  // The switch's thread ends first, because it uses the memory of all other parts.
  switch_thread_.reset();
  nic_thread_.reset();
  cpu_thread_.reset();
}

std::unique_ptr<System> System::Start(const ChainSettings& settings, std::vector<Flow*> flows,
                                      NicSteps steps, std::string* error) {
  std::unique_ptr<System> system(new System(settings));
  for (const StageSpec& spec : settings.roles.stages)
    if (!system->StartStage(spec, error)) return nullptr;
  if (!system->StartNic(std::move(flows), steps, error) || !system->StartCpu(error) ||
      !system->StartSwitch(error))
    return nullptr;
  system->AimTraffic();
  return system;
}

bool System::StartStage(const StageSpec& spec, std::string* error) {
  auto host = StageHost::Start(spec, settings_.stage_program, error);
  if (host == nullptr) {
    *error = "device \"" + spec.device + "\": " + *error;
    return false;
  }
  stages_.push_back({.host = std::move(host), .steps_ns = base::MonotonicNs()});
  return true;
}

bool System::StartNic(std::vector<Flow*> flows, NicSteps steps, std::string* error) {
  if (!MakeLink(&nic_link_, error)) return false;
  nic_ = std::make_unique<Nic>(LinkIn(nic_link_), settings_.roles.nic, std::move(flows));
  if (steps == NicSteps::kByThread)
    nic_thread_ = std::make_unique<host::StepThread<>>([nic = nic_.get()] { return nic->Step(); });
  return true;
}

/// Creates the CPU's link, the switch and, if it is needed, the part of the host that handles
/// messages.
bool System::StartCpu(std::string* error) {
  if (!MakeLink(&cpu_link_, error)) return false;
  runner_ = std::make_unique<SwitchRunner>(settings_.roles.root, settings_.through_cpu);
  if (settings_.through_cpu) {
    cpu_ = std::make_unique<CpuControl>(
        settings_.outstanding, LinkIn(cpu_link_),
        [runner = runner_.get()](uint32_t region, std::span<uint8_t> memory) {
          runner->Map(region, memory);
        });
  } else if (settings_.roles.to_host) {
    host_end_ =
        std::make_unique<Nic>(LinkIn(cpu_link_), settings_.roles.root, std::vector<Flow*>{});
  }
  return true;
}

/// Steps the host's part, and adds up the cycles of steps that found work.
template <typename Part>
std::unique_ptr<host::StepThread<>> System::CpuThread(Part* part) {
  return std::make_unique<host::StepThread<>>([this, part] {
    const uint64_t begin = cpu::Cycles();
    if (!part->Step()) return false;
    busy_cycles_.store(busy_cycles_.load(std::memory_order_relaxed) + cpu::Cycles() - begin,
                       std::memory_order_relaxed);
    return true;
  });
}

bool System::StartSwitch(std::string* error) {
  runner_->Attach(settings_.roles.nic, &LinkIn(nic_link_));
  runner_->Attach(settings_.roles.root, &LinkIn(cpu_link_), host_end_ != nullptr);
  for (Watched& stage : stages_) runner_->Attach(stage.host->spec().port, &stage.host->link());
  if (cpu_ == nullptr) control_ = std::make_unique<PushControl>(*runner_);
  *error = Apply(settings_.graph, nullptr);
  if (!error->empty()) return false;
  if (cpu_ != nullptr) cpu_thread_ = CpuThread(cpu_.get());
  if (host_end_ != nullptr) cpu_thread_ = CpuThread(host_end_.get());
  switch_thread_ =
      std::make_unique<host::StepThread<>>([runner = runner_.get()] { return runner->Step(); });
  return true;
}

/// Returns a function that runs commands on the CPU's thread, or on the calling thread if the CPU's
/// thread does not exist yet.
CpuControl::Do System::OnCpu() {
  return [this](const std::function<void()>& command) {
    if (cpu_thread_ == nullptr) return command();
    cpu_thread_->Do(command);
  };
}
CpuControl::Do System::OnSwitch() {
  return [this](const std::function<void()>& command) {
    if (switch_thread_ == nullptr) return command();
    switch_thread_->Do(command);
  };
}

/// Applies the graph to the running parts. On failure, returns an error message and changes
/// nothing; on success, returns an empty string.
std::string System::Apply(const engine::chain::Graph& graph,
                          std::vector<engine::chain::Changed>* changes) {
  if (cpu_ != nullptr)
    return cpu_->Apply(graph, ChainsOf(graph, settings_.flows), OnCpu(), OnSwitch(), changes);
  std::string error;
  OnSwitch()([&] { error = control_->Apply(graph, changes); });
  return error;
}

/// Directs each flow to its current chain.
void System::AimTraffic() {
  for (size_t flow = 0; flow < settings_.flows.size(); ++flow) {
    const auto* const chain = engine::chain::ChainOf(settings_.graph, settings_.flows[flow]);
    int slot = -1;
    if (chain != nullptr)
      slot = cpu_ != nullptr ? cpu_->FirstSlot(chain->name) : control_->FirstSlot(chain->name);
    nic_->SetSlot(flow, slot);
  }
}

void System::StartTraffic() {
  begin_ns_ = base::MonotonicNs();
  if (cpu_thread_ != nullptr) {
    begin_cpu_ns_ = cpu_thread_->CpuNs();
    instructions_.emplace(cpu_thread_->tid());
  }
  for (Watched& stage : stages_) stage.next_kill_ns = begin_ns_ + settings_.kill_ns;
  nic_->EnableWire(true);
}

std::string System::Tend() {
  std::string text;
  const uint64_t now = base::MonotonicNs();
  if (!settings_.stage_program.empty())
    for (Watched& stage : stages_) text += TendStage(stage, now);
  if (cpu_ != nullptr) {
    cpu_->Tend(OnCpu(), OnSwitch());
  } else {
    bool reopened = false;
    switch_thread_->Do([&] {
      reopened = control_->Reopen();
      control_->Tend();
    });
    if (reopened) AimTraffic();
  }
  return text;
}

std::string System::TendStage(Watched& stage, uint64_t now) {
  StageHost& host = *stage.host;
  if (stage.state == Watched::State::kDown)
    return now < stage.next_start_ns ? "" : StartAgain(stage);
  if (host.Ended()) return Down(stage);
  if (stage.killed) return "";
  if (stage.state == Watched::State::kStarting) {
    if (host.phase() == Phase::kReady) {
      Up(stage);
    } else if (now > stage.steps_ns + StageHost::kPatienceNs) {
      Kill(stage, now);
    }
    return "";
  }
  bool broken = false;
  switch_thread_->Do([&] { broken = runner_->broken(host.spec().port); });
  const bool hangs = Hangs(stage, now);
  const bool wanted = host.spec().device == settings_.kill && now > stage.next_kill_ns;
  if (hangs || wanted || broken) Kill(stage, now);
  if (hangs) return host.spec().device + " hung and was killed\n";
  if (broken) return host.spec().device + " wrote invalid data to its link and was killed\n";
  return "";
}

void System::Kill(Watched& stage, uint64_t now) {
  stage.host->Kill();
  stage.killed = true;
  stage.next_kill_ns = now + settings_.kill_ns;
}

/// Returns whether the stage has completed no step for hang_ns even though it had a CPU. It counts
/// as having had a CPU if it waited for one for less than a quarter of the second half of hang_ns.
bool System::Hangs(Watched& stage, uint64_t now) {
  StageHost& host = *stage.host;
  const uint64_t half = settings_.hang_ns / 2;
  if (host.steps() != stage.steps) {
    stage.steps = host.steps();
    stage.steps_ns = now;
    stage.watched = false;
  }
  if (half == 0 || now < stage.steps_ns + half) return false;
  if (!std::exchange(stage.watched, true)) host.Starved(now);
  if (now < stage.steps_ns + settings_.hang_ns) return false;
  if (host.Starved(now) < half / 4) return true;
  stage.steps_ns = now - half;
  return false;
}

/// Handles the end of a stage's process: drops its messages, and starts a new process. If the old
/// process was not ready yet, the start is delayed.
std::string System::Down(Watched& stage) {
  StageHost& host = *stage.host;
  const auto port = host.spec().port;
  switch_thread_->Do([&] {
    runner_->programmable().Fail(port);
    runner_->Attach(port, nullptr);
    runner_->DrainRoot();
  });
  if (cpu_ != nullptr) cpu_thread_->Do([&] { cpu_->Fail(port); });
  stage.killed = stage.watched = false;
  return stage.state == Watched::State::kUp ? StartAgain(stage) : Wait(stage, host.error());
}

std::string System::StartAgain(Watched& stage) {
  stage.state = Watched::State::kStarting;
  stage.steps_ns = base::MonotonicNs();
  std::string error;
  return stage.host->Restart(&error) ? "" : Wait(stage, error);
}

/// Handles a failed start: schedules the next one after a pause that grows with each failure.
/// Returns a message, or an empty string if the previous failure had the same reason.
std::string System::Wait(Watched& stage, const std::string& error) {
  stage.state = Watched::State::kDown;
  const std::chrono::nanoseconds pause = stage.pauses.Next();
  stage.next_start_ns = base::MonotonicNs() + static_cast<uint64_t>(pause.count());
  if (std::exchange(stage.text, error) == error) return "";
  return stage.host->spec().device + " cannot be restarted yet: " + error + "\n";
}

/// Handles a stage's process that became ready: reconnects the switch and the device.
void System::Up(Watched& stage) {
  StageHost& host = *stage.host;
  const auto port = host.spec().port;
  switch_thread_->Do([&] {
    runner_->DrainRoot();
    runner_->programmable().Restore(port);
    runner_->Attach(port, &host.link());
    if (control_ != nullptr) control_->SetUpAgain(port);
  });
  if (cpu_ != nullptr) cpu_thread_->Do([&] { cpu_->Restore(port); });
  stage.state = Watched::State::kUp;
  stage.text.clear();
  stage.pauses.Reset();
  stage.steps = host.steps();
  stage.steps_ns = base::MonotonicNs();
}

/// Starts the stages that are not running yet. Returns false and sets `error` if a stage does not
/// start.
bool System::StartMissing(const Roles& roles, std::string* error) {
  for (const StageSpec& spec : roles.stages) {
    const bool runs = std::ranges::any_of(
        stages_, [&](const Watched& stage) { return stage.host->spec().device == spec.device; });
    if (runs) continue;
    if (!StartStage(spec, error)) return false;
    Watched& stage = stages_.back();
    stage.next_kill_ns = stage.steps_ns;
    switch_thread_->Do([&] { runner_->Attach(spec.port, &stage.host->link()); });
  }
  return true;
}

/// Ends all stages after the first `left`. No chain may use them.
void System::EndStages(size_t left) {
  for (; stages_.size() != left; stages_.pop_back()) {
    const auto port = stages_.back().host->spec().port;
    switch_thread_->Do([&] { runner_->Attach(port, nullptr); });
  }
}

std::string System::Reload(const std::string& graph_file) {
  std::vector<std::string> errors;
  const auto graph = ReadGraphFile(graph_file, &errors);
  if (graph) return Replace(*graph) + "\n";
  std::string text;
  for (const std::string& error : errors) text += "the graph is unchanged: " + error + "\n";
  return text;
}

/// Returns the changes, or the reason for a rejection, in one line.
std::string System::Replace(const engine::chain::Graph& graph) {
  std::string error;
  auto roles = RolesOf(graph, &error);
  if (!roles) return "the graph is unchanged: " + error;
  Roles running = settings_.roles;
  running.stages.clear();
  for (const Watched& stage : stages_) running.stages.push_back(stage.host->spec());
  error = Incompatible(running, *roles);
  if (!error.empty()) return "the graph is unchanged: " + error;
  if (control_ != nullptr && roles->to_host && host_end_ == nullptr)
    return "the graph is unchanged: a chain that ends at the host requires a restart";
  const size_t before = stages_.size();
  std::vector<engine::chain::Changed> changes;
  if (StartMissing(*roles, &error)) error = Apply(graph, &changes);
  if (!error.empty()) {
    EndStages(before);
    return "the graph is unchanged: " + error;
  }
  settings_.graph = graph;
  AimTraffic();
  ++reloads_;
  std::string text = "changed:";
  for (const auto& [chain, change] : changes)
    text.append(" ").append(chain).append(" ").append(kChangeNames[static_cast<size_t>(change)]);
  return text;
}

Figures System::ReadFigures() {
  Figures figures;
  figures.seconds = static_cast<double>(base::MonotonicNs() - begin_ns_) / 1e9;
  for (const Watched& stage : stages_) {
    figures.stages.push_back(stage.host->figures());
    figures.restarts += figures.stages.back().restarts;
    if (stage.state == Watched::State::kDown)
      figures.down.push_back(stage.host->spec().device + ": " + stage.text);
  }
  figures.reloads = reloads_;
  figures.foreign = nic_->received();
  switch_thread_->Do([&] {
    figures.drops = runner_->programmable().drops();
    for (device::pcie_switch::PortId port = 0; port < device::pcie_switch::kMaxPorts; ++port)
      AddTo(port == runner_->root() ? figures.root : figures.devices, runner_->operations(port));
  });
  if (cpu_ != nullptr) cpu_thread_->Do([&] { figures.cpu = cpu_->counters(); });
  if (host_end_ != nullptr) {
    figures.cpu.received = host_end_->received();
    figures.cpu.polls = host_end_->steps();
  }
  if (cpu_thread_ != nullptr) figures.cpu_ns = cpu_thread_->CpuNs() - begin_cpu_ns_;
  figures.busy_cycles = busy_cycles_.load(std::memory_order_relaxed);
  if (instructions_) figures.instructions = instructions_->Count();
  if (cpu_thread_ == nullptr) figures.instructions = 0;
  return figures;
}

std::vector<const StageSpec*> System::stages() const {
  std::vector<const StageSpec*> specs;
  for (const Watched& stage : stages_) specs.push_back(&stage.host->spec());
  return specs;
}

}  // namespace sluice::chain_app

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/supervisor.h"

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_telemetry.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "dpdk/release.h"
#include "host/output_text.h"
#include "host/run_signals.h"
#include "host/service_manager.h"
#include "nic/eth_port.h"
#include "runtime/drain.h"
#include "runtime/log.h"

namespace sluice::runtime {

namespace {

/// The commands /sluice/stats and /sluice/map for dpdk-telemetry.py and other readers of DPDK's
/// telemetry socket. Answers these and the application's commands while it exists; later answers
/// are empty. At most one instance may exist at a time. EAL's telemetry thread calls `take` and
/// `commands`. Characters that DPDK does not accept in names are replaced with _. If the value is
/// an object, its member "name" contains the original name.
class TelemetryScope {
 public:
  TelemetryScope(std::function<Sample()> take, std::span<const std::string_view> reasons,
                 std::span<const std::string> map, std::span<const TelemetryCommand> commands = {});
  ~TelemetryScope();
  TelemetryScope(const TelemetryScope&) = delete;
  TelemetryScope& operator=(const TelemetryScope&) = delete;
};

// The data for the commands. It outlives every run, because rte_telemetry cannot unregister a
// command.
struct Source {
  std::mutex mutex;
  std::function<Sample()> take;
  std::span<const std::string_view> reasons;
  std::span<const std::string> map;
  std::span<const TelemetryCommand> commands;
};

Source& TheSource() {
  static Source source;
  return source;
}

int Stats(const char* /*command*/, const char* /*parameters*/, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  rte_tel_data_start_dict(data);
  if (!source.take) return 0;
  const Sample sample = source.take();
  const nic::QueueCounters& c = sample.counters;
  const auto add = [data](const std::string& name, uint64_t value) {
    dpdk::AddToDict(data, name.c_str(), value);
  };
  for (const nic::QueueCounter& counter : nic::kQueueCounters) add(counter.name, c.*counter.member);
  add("busy_cycles", sample.busy_cycles);
  add("total_cycles", sample.total_cycles);
  add("uptime_ms", static_cast<uint64_t>(sample.seconds * 1000));
  for (size_t i = 0; i < source.reasons.size() && i < nic::QueueCounters::kMaxReasons; ++i) {
    add("drop_" + std::string(source.reasons[i]), c.engine_drops[i]);
  }
  for (const auto& [name, frames] : sample.nic.by_name)
    add("nic_drop_" + std::string(name), frames);
  add("nic_dropped_pkts", sample.nic.Sum());
  add("rx_nombuf", sample.nic.no_mbuf);
  return 0;
}

int Map(const char* /*command*/, const char* /*parameters*/, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
  for (const std::string& line : source.map) rte_tel_data_add_array_string(data, line.c_str());
  return 0;
}

// Maximum number of entries in a DPDK telemetry container.
constexpr size_t kMaxEntries = 250;
using Json = nlohmann::ordered_json;
using Data = std::unique_ptr<rte_tel_data, decltype(&rte_tel_data_free)>;

// Returns the value as printable ASCII, truncated to DPDK's limit. All other bytes become '?',
// because DPDK does not escape them when it writes JSON.
std::string Scalar(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>()
                                       : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  text.resize(std::min<size_t>(text.size(), RTE_TEL_MAX_STRING_LEN - 1));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Replaces all characters except letters, digits, _ and / with _. DPDK omits members whose names
// contain other characters.
std::string LegalName(const std::string& name) {
  constexpr auto is_legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/';
  };
  std::string legal = name.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
  std::ranges::replace_if(
      legal, [&](char c) { return !is_legal(c); }, '_');
  return legal;
}

void AddMember(rte_tel_data* data, const std::string& name, const Json& value, bool nested);

void Fill(rte_tel_data* data, const Json& value, bool nested) {
  if (value.is_object()) {
    rte_tel_data_start_dict(data);
    size_t entries = 0;
    for (const auto& [name, member] : value.items()) {
      if (entries++ < kMaxEntries) AddMember(data, name, member, nested);
    }
  } else if (!nested && !value.empty() && value.front().is_object()) {
    // DPDK 22.11 does not support arrays of objects, so this writes an object with the indices as
    // names.
    rte_tel_data_start_dict(data);
    for (size_t place = 0; place < std::min(value.size(), kMaxEntries); ++place) {
      AddMember(data, std::to_string(place), value[place], false);
    }
  } else {
    rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
    size_t entries = 0;
    for (const Json& item : value) {
      if (entries++ < kMaxEntries) rte_tel_data_add_array_string(data, Scalar(item).c_str());
    }
  }
}

// Adds a member to a container. If `name` is not valid and the value is an object without a member
// "name", adds such a member that contains `name`.
void AddMember(rte_tel_data* data, const std::string& name, const Json& value, bool nested) {
  const std::string legal = LegalName(name);
  if (value.is_number_integer()) {
    dpdk::AddToDict(data, legal.c_str(), value.get<uint64_t>());
  } else if (value.is_structured() && !nested) {
    Data inner(rte_tel_data_alloc(), &rte_tel_data_free);
    Fill(inner.get(), value, true);
    if (value.is_object() && legal != name && !value.contains("name")) {
      rte_tel_data_add_dict_string(inner.get(), "name", Scalar(name).c_str());
    }
    if (rte_tel_data_add_dict_container(data, legal.c_str(), inner.get(), 0) == 0) inner.release();
  } else {
    rte_tel_data_add_dict_string(data, legal.c_str(), Scalar(value).c_str());
  }
}

int Ask(const char* command, const char* parameters, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  const auto asked = std::ranges::find(source.commands, command, &TelemetryCommand::path);
  if (asked == source.commands.end()) {
    rte_tel_data_start_dict(data);
  } else {
    Fill(data, asked->answer(parameters == nullptr ? "" : parameters), false);
  }
  return 0;
}

TelemetryScope::TelemetryScope(std::function<Sample()> take,
                               std::span<const std::string_view> reasons,
                               std::span<const std::string> map,
                               std::span<const TelemetryCommand> commands) {
  Source& source = TheSource();
  {
    const std::scoped_lock lock(source.mutex);
    source.take = std::move(take);
    source.reasons = reasons;
    source.map = map;
    source.commands = commands;
  }
  static const bool registered = [] {
    rte_telemetry_register_cmd("/sluice/stats", Stats,
                               "Counters, summed over all workers. No parameters.");
    rte_telemetry_register_cmd("/sluice/map", Map,
                               "Lcores of workers, and the queues that they poll. No parameters.");
    return true;
  }();
  (void)registered;
  for (const TelemetryCommand& command :
       commands) {  // In a second run, the registration has no effect.
    rte_telemetry_register_cmd(command.path.c_str(), Ask, command.help.c_str());
  }
}

TelemetryScope::~TelemetryScope() {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  source.take = nullptr;
  source.reasons = {};
  source.map = {};
  source.commands = {};
}

constexpr double kOverLookS = 0.005;     // Interval between checks for the end of the run.
constexpr double kLinkLookS = 0.1;       // Interval between link checks.
constexpr timespec kLook{0, 1'000'000};  // Interval between drain checks: 1 ms.

}  // namespace

Supervisor::Supervisor(const Plan& plan, std::span<const WorkerView> workers)
    : plan_(plan), workers_(workers), schedule_(0, 0), link_(nic::PortText(plan.port)) {
  uint32_t lcore = rte_get_next_lcore(-1, 1, 0);
  for (size_t i = 0; i < workers_.size(); ++i) {
    lcores_.push_back(lcore);
    lcore = rte_get_next_lcore(lcore, 1, 0);
  }
}

Sample Supervisor::ReadSample(PortStats* port) const {
  Sample sample;
  for (const WorkerView& worker : workers_) {
    sample.counters += worker.counters->Snapshot();
    sample.busy_cycles += worker.control->busy_cycles.load(std::memory_order_relaxed);
    sample.total_cycles += worker.control->total_cycles.load(std::memory_order_relaxed);
  }
  sample.seconds = schedule_.Seconds();
  const PortStats now = PortStats::Read(plan_.port);
  sample.nic = NicDropsSince(plan_.opened, now);
  if (port != nullptr) *port = now;
  return sample;
}

void Supervisor::Print(const std::string& line) const {
  if (line.empty() || !host::TakesText(plan_.text)) return;
  std::fprintf(plan_.text, "%s\n", line.c_str());
  std::fflush(plan_.text);
}

void Supervisor::LookAtLink() {
  bool up = true;
  {
    const std::scoped_lock lock(PortCalls());
    up = std::ranges::all_of(workers_,
                             [](const WorkerView& worker) { return worker.link_up(worker.job); });
  }
  Print(link_.Look(up, schedule_.Seconds()));
  if (plan_.hooks->link_seen) plan_.hooks->link_seen(up);
}

void Supervisor::Watch() {
  const AppHooks& hooks = *plan_.hooks;
  const double longest = hooks.over ? kOverLookS : kLinkLookS;
  Sample last;
  for (;;) {
    LookAtLink();
    if (schedule_.IsOver() || (hooks.over && hooks.over())) return;
    const int signal = host::WaitForRunSignal(std::min(schedule_.Rest(), longest),
                                              static_cast<bool>(hooks.on_hangup));
    if (signal == SIGHUP) {
      hooks.on_hangup();
    } else if (signal != 0) {
      return;
    }
    if (!schedule_.LineDue()) continue;
    const Sample sample = ReadSample();
    Print(StatsLine(last, sample));
    if (hooks.line && host::TakesText(plan_.text)) Print(hooks.line());
    last = sample;
  }
}

void Supervisor::Drain(RunFigures* figures) const {
  DrainWatch watch(schedule_.Seconds());
  do {
    nanosleep(&kLook, nullptr);  // Spinning would occupy a CPU that the device may need.
    figures->final = ReadSample(&figures->port_final);
  } while (!watch.Over(*figures, schedule_.Seconds()));
}

void Supervisor::Stop(bool model, RunFigures* figures) {
  figures->measured = ReadSample(&figures->port_measured);
  LookAtLink();
  figures->link_up = link_.up();
  link_.End(schedule_.Seconds());
  figures->link_downs = link_.downs();
  figures->link_down_count = link_.count();
  figures->link_down_s = link_.seconds();
  host::UnblockStopSignals();
  if (plan_.hooks->settle) plan_.hooks->settle();
  // Stops the source first, so that the workers process all frames that it sent.
  figures->drained = model && rte_eth_dev_set_link_down(plan_.port) == 0;
  if (figures->drained) Drain(figures);
  for (const WorkerView& worker : workers_) {
    worker.control->stop.store(true, std::memory_order_relaxed);
  }
  rte_eal_mp_wait_lcore();
  figures->final = ReadSample(&figures->port_final);
  for (const WorkerView& worker : workers_) {
    figures->ctx_switches += worker.control->ctx_switches.load(std::memory_order_relaxed);
  }
}

void Supervisor::Run(RunFigures* figures) {
  figures->port_begin = PortStats::Read(plan_.port);
  const bool model = figures->port_begin.IsModel();
  schedule_ = {plan_.hooks->over ? 0 : plan_.duration_s, plan_.stats_period_s};
  const TelemetryScope telemetry([this] { return ReadSample(); }, figures->reasons, figures->map,
                                 plan_.hooks->commands);
  if (plan_.metrics != nullptr) {
    plan_.metrics->Serve(
        [this, reasons = figures->reasons, about = BuildInfo(figures->app, figures->iface)] {
          MetricFamilies families = MetricsOf(ReadSample(), reasons);
          families.insert(families.begin(), about.begin(), about.end());
          if (plan_.hooks->metrics) plan_.hooks->metrics(families);
          return families;
        });
  }
  for (size_t i = 0; i < workers_.size(); ++i) {
    rte_eal_remote_launch(workers_[i].main, workers_[i].job, lcores_[i]);
  }
  if (model) rte_eth_dev_set_link_up(plan_.port);
  if (plan_.hooks->started) plan_.hooks->started();
  host::NotifyServiceManager(host::kServiceReady);
  Watch();
  host::NotifyServiceManager(host::kServiceStopping);
  Stop(model, figures);
  if (plan_.metrics != nullptr) plan_.metrics->Serve(nullptr);
}

}  // namespace sluice::runtime

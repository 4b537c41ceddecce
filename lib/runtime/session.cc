// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/session.h"

#include <absl/strings/str_format.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "base/random_seed.h"
#include "host/exit_codes.h"
#include "host/flag_text.h"
#include "host/report.h"
#include "host/run_signals.h"
#include "packet/bytes.h"
#include "runtime/eal_devices.h"
#include "runtime/eal_plan.h"
#include "runtime/log.h"
#include "runtime/report.h"
#include "runtime/runtime_folder.h"
#include "runtime/start_log.h"

namespace sluice::runtime {

namespace {

std::optional<uint16_t> PortByName(const std::string& name) {
  uint16_t port = 0;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) == 0) return port;
  char* end = nullptr;
  const unsigned long id = std::strtoul(name.c_str(), &end, 10);
  if (end != name.c_str() && *end == '\0' && id < RTE_MAX_ETHPORTS &&
      rte_eth_dev_is_valid_port(static_cast<uint16_t>(id))) {
    return static_cast<uint16_t>(id);
  }
  return std::nullopt;
}

// Returns whether `file` is a terminal on which colors may be used. NO_COLOR (https://no-color.org)
// disables them.
bool TakesColor(std::FILE* file) {
  const char* const refused = std::getenv("NO_COLOR");
  return isatty(fileno(file)) == 1 && (refused == nullptr || *refused == '\0');
}

}  // namespace

std::unique_ptr<Session> Session::Start(CommandLine line, int* exit_code) {
  std::unique_ptr<Session> session(new Session(std::move(line)));
  std::string error;
  *exit_code = session->OpenMetrics(&error);
  if (*exit_code == 0) *exit_code = session->StartEal(&error);
  if (*exit_code == 0) *exit_code = session->OpenPorts(&error);
  if (*exit_code == 0) return session;
  std::fprintf(stderr, "%s\n", error.c_str());
  return nullptr;
}

int Session::StartEal(std::string* error) {
  const EalPlan plan = PlanEal(line_, HostResources::Read(), getpid());
  memory_ = plan.memory.empty() ? "as given to EAL" : plan.memory;
  embedded_ = plan.embedded;
  file_prefix_ = plan.file_prefix;
  if (!plan.warning.empty()) std::fprintf(stderr, "%s\n", plan.warning.c_str());
  std::vector<std::string> arguments = plan.arguments;
  arguments.insert(arguments.begin(), "sluice-" + line_.app);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  host::BlockRunSignals(line_.options.hangup);
  // EAL's log lines are shown if the user passed a device to EAL. Otherwise users need only error
  // lines about flags.
  StartLog log(embedded_.empty() ? StartLog::Lines::kShown : StartLog::Lines::kKept);
  eal_ = log.StartEal(static_cast<int>(arguments.size()), argv.data());
  if (!eal_) {
    const int code = log.ExitCode();
    *error = "EAL failed to start: " + log.WhyNotStarted() +
             (code == 2 ? ": arguments before -- must be EAL's" : "");
    return code;
  }
  SweepDeadRuns(file_prefix_);
  if (!FindPorts(log.first_error(), error)) {
    // The drivers set rte_errno if they cannot create the model on a GPU.
    const bool on_gpu = log.first_error().find("on=gpu") != std::string::npos;
    if (on_gpu) return host::StartFailureCode(log.first_errno());
    return AwaitsDevice(EalDevices(line_.eal)) ? 1 : 2;
  }
  log.Show();
  const uint32_t workers = rte_lcore_count() - 1;
  if (workers >= line_.options.workers) return 0;
  *error = absl::StrFormat(
      "--workers=%d: EAL has %d worker lcore(s) besides main: add lcores with EAL's -l",
      line_.options.workers, workers);
  return 2;
}

int Session::OpenMetrics(std::string* error) {
  const Options& options = line_.options;
  if (options.metrics.empty()) return 0;
  host::BlockRunSignals(options.hangup);  // The server's threads inherit the signal mask.
  metrics_ = MetricsServer::Open(options.metrics, error);
  return metrics_ != nullptr ? 0 : host::StartFailureCode(errno);
}

bool Session::FindPorts(const std::string& why, std::string* error) {
  const Options& options = line_.options;
  if (!options.exception_port.empty()) {
    exception_ = PortByName(options.exception_port);
    if (!exception_) {
      *error = host::FlagComplaint("exception_port", "no such port: create it with --vdev or -a");
      return false;
    }
  }
  const std::string& wanted = options.port.empty() ? embedded_ : options.port;
  if (!wanted.empty()) {
    const std::optional<uint16_t> port = PortByName(wanted);
    if (!port && !options.port.empty()) {
      *error = host::FlagComplaint("port", "no such port: give a port that EAL has");
      return false;
    }
    if (!port) {
      const std::string what = "the embedded NIC cannot be created: " + why;
      const bool names_on =
          !options.on.empty() &&
          why.find("on=" + options.on.substr(0, options.on.find(':'))) != std::string::npos;
      const std::string flag = names_on ? "on" : options.wire_flag;
      *error = flag.empty() ? what : host::FlagComplaint(flag, what);
      return false;
    }
    port_ = *port;
    if (exception_ != port_) return true;
    *error = host::FlagComplaint("exception_port", "must not be the same port as --port");
    return false;
  }
  uint16_t port = 0;
  RTE_ETH_FOREACH_DEV(port) {
    if (exception_ == port) continue;
    port_ = port;
    return true;
  }
  *error = exception_ ? host::FlagComplaint("exception_port",
                                            "no port is free: create one with --vdev or -a")
                      : NoPort(EalDevices(line_.eal), why);
  return false;
}

int Session::OpenPorts(std::string* error) {
  const Options& options = line_.options;
  rte_ether_addr mac{};
  own_ = options.own;
  if (rte_eth_macaddr_get(port_, &mac) == 0) {
    own_.set_mac(packet::Load<packet::MacAddress>(mac.addr_bytes));
  }
  if (line_.prepare && (prepared_ = line_.prepare(port_, own_, error)) == nullptr) return 1;
  const auto workers = static_cast<uint16_t>(options.workers);
  if (exception_) {
    exception_port_ =
        nic::EthPort::Open(*exception_, {.rx_queues = 1, .tx_queues = workers}, error);
    if (exception_port_ == nullptr) return 1;
  }
  nic::InterfaceOptions wanted = options.interface;
  wanted.port = port_;
  wanted.workers = workers;
  wanted.promiscuous = IsPromiscuous();
  wanted.exception = exception_port_.get();
  // Read before the port is started, because a model's source starts before the workers poll.
  wanted.before_start = [this] { opened_ = PortStats::Read(port_); };
  nic::Emplace(*options.iface, binding_);
  const nic::Opened opened =
      std::visit([&](auto& binding) { return binding.Open(wanted, error); }, binding_);
  if (opened != nic::Opened::kYes) return opened == nic::Opened::kBadArgument ? 2 : 1;
  if (!MakeDefragmenters(error)) return 1;
  if (options.capture.empty()) return 0;
  capture_ = Capture::Open(options.capture, options.capture_pkts, error);
  return capture_ != nullptr ? 0 : 1;
}

bool Session::AwaitLink(int seconds) const {
  constexpr int kLooksPerSecond = 20;
  rte_eth_rxq_info queue{};
  // -EINVAL means that no receive queue has been set up.
  if (rte_eth_rx_queue_info_get(port_, 0, &queue) == -EINVAL) return true;
  for (int look = 0;; ++look) {
    rte_eth_link link{};
    {
      const std::scoped_lock lock(PortCalls());
      // The driver does not report the link state.
      if (rte_eth_link_get_nowait(port_, &link) != 0) return true;
    }
    if (link.link_status == RTE_ETH_LINK_UP) return true;
    if (look == seconds * kLooksPerSecond || host::StopIsPending()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1000 / kLooksPerSecond));
  }
}

bool Session::IsPromiscuous() const {
  return line_.options.promiscuous || line_.options.wire.starts_with("pcap:");
}

bool Session::MakeDefragmenters(std::string* error) {
  const uint32_t datagrams = line_.options.reassemble;
  try {
    for (uint32_t i = 0; i < line_.options.workers; ++i) {
      if (datagrams == 0) {
        defragmenters_.emplace_back();
        continue;
      }
      defragmenters_.emplace_back(datagrams, packet::Defragmenter::kTimeoutS * rte_get_tsc_hz(),
                                  base::RandomSeed());
    }
  } catch (const std::bad_alloc&) {
    *error = host::FlagComplaint("reassemble",
                                 "not enough memory for so many datagrams: give a smaller number");
    return false;
  }
  return true;
}

bool Session::CanRun(packet::Engine& engine, const packet::CanEmit& can_emit) {
  const std::string error = engine.QueueError(can_emit);
  if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
  return error.empty();
}

int Session::Supervise(std::span<const WorkerView> workers,
                       std::span<const std::string_view> reasons) {
  const Options& options = line_.options;
  std::FILE* const text = options.Text();
  Supervisor supervisor(
      {options.duration_s, options.stats_period_s, port_, text, &hooks_, metrics_.get(), opened_},
      workers);
  RunFigures run;
  run.app = line_.app;
  run.iface = options.iface->name;
  run.traffic = embedded_.empty() ? nic::PortText(port_) : options.traffic;
  run.frame_size = embedded_.empty() ? "" : options.frame_size;
  run.memory = memory_;
  run.reasons = reasons;
  for (size_t i = 0; i < workers.size(); ++i) {
    const uint32_t lcore = supervisor.lcores()[i];
    const rte_cpuset_t cpus = rte_lcore_cpuset(lcore);
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
    const std::string place = std::visit(
        [&](const auto& binding) { return binding.Place(static_cast<uint32_t>(i)); }, binding_);
    run.map.push_back(
        absl::StrFormat("lcore %d (cpu %d): %s %s", lcore, cpu, nic::PortText(port_), place));
  }
  std::fprintf(text, "sluice-%s, %s, memory: %s\n", line_.app.c_str(), run.iface.c_str(),
               memory_.c_str());
  for (const std::string& line : run.map) std::fprintf(text, "%s\n", line.c_str());
  if (metrics_ != nullptr) std::fprintf(text, "metrics: %s\n", metrics_->url().c_str());
  std::fflush(text);

  supervisor.Run(&run);
  run.figures = std::visit([](const auto& binding) { return binding.Figures(); }, binding_);
  if (hooks_.findings) run.findings = hooks_.findings();

  std::fputs(Totals(run, TakesColor(text)).c_str(), text);
  std::fflush(text);
  int exit_code = 0;
  if (const std::string verdict = Verdict(run); !verdict.empty()) {
    std::fprintf(stderr, "%s\n", verdict.c_str());
    exit_code = 1;
  }
  if (capture_ != nullptr) {
    if (const std::string why = capture_->Close(); !why.empty()) {
      std::fprintf(stderr, "--capture=%s: %s\n", options.capture.c_str(), why.c_str());
      exit_code = 1;
    }
  }
  if (!host::WriteReport(options.json, JsonReport(run, hooks_.report))) exit_code = 1;
  return exit_code;
}

Session::~Session() {
  prepared_.reset();
  capture_.reset();
  defragmenters_.clear();
  binding_.emplace<0>();  // Closes the previous binding.
  exception_port_.reset();
  if (eal_) rte_eal_cleanup();
  RemoveOwnRun(file_prefix_);
}

}  // namespace sluice::runtime

// SPDX-License-Identifier: BSD-3-Clause
//
// Kind "logmon": matches log lines. Its configuration is that of sluice-logmon's filters;
// additional members are named like sluice-logmon's flags.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c_api/engine.h"
#include "c_api/host.h"
#include "c_api/swapped.h"
#include "config/json_reader.h"
#include "engine/logmon/config/config.h"
#include "engine/logmon/monitor.h"
#include "engine/logmon/scan/rule_set.h"
#include "engine/logmon/source/source_name.h"
#include "engine/neighbor/neighbor.h"
#include "packet/own_addresses.h"

namespace sluice::c_api {
namespace {

using engine::logmon::FilterConfig;
using engine::logmon::FilterSet;
using engine::logmon::MatchedLine;
using engine::logmon::RuleSet;
using engine::logmon::ScanCounters;
using engine::logmon::Source;
using engine::logmon::SourceCounters;
using engine::logmon::SyslogHeader;
using Json = nlohmann::ordered_json;

using engine::logmon::MonitorOptions;
using nlohmann::json;
using Ports = std::vector<uint16_t>;

// The configuration of kind "logmon".

struct LogmonSettings {
  engine::logmon::Config filters;
  engine::logmon::MonitorOptions monitor;
  packet::OwnAddresses host;

  /// Returns the filters that have `show` set.
  engine::logmon::FilterSet Shown() const;
};

// Maximum wait for missing bytes of a TCP stream: several retransmissions.
constexpr uint64_t kGapSeconds = 3;
// Maximum time between two lines of one log-in session, like fail2ban's mlfidCache.
constexpr uint64_t kSessionSeconds = 300;

void ReadPorts(config::ObjectReader& reader, std::string_view key, config::Errors* errors,
               Ports* ports) {
  constexpr size_t kMostPorts = 1024;
  Ports read;
  const bool given = reader.Array(key, kMostPorts, [&](const json& item, const std::string& path) {
    const uint64_t port = item.is_number_unsigned() ? item.get<uint64_t>() : 0;
    if (port == 0 || port > UINT16_MAX) {
      config::AddError(errors, path + ": give a port, 1 ... 65535");
    } else {
      read.push_back(static_cast<uint16_t>(port));
    }
  });
  if (given) *ports = std::move(read);
}

bool Share(const Ports& one, const Ports& other) {
  return std::ranges::find_first_of(one, other) != one.end();
}

engine::logmon::FilterSet LogmonSettings::Shown() const {
  engine::logmon::FilterSet shown;
  for (size_t i = 0; i < filters.about.size(); ++i) shown[i] = filters.about[i].show;
  return shown;
}

/// Reads a configuration, in which relative file names refer to `folder`. If the configuration is
/// invalid, returns nullopt and stores the reasons in `errors`.
std::optional<LogmonSettings> ReadLogmonSettings(std::string_view text, const std::string& folder,
                                                 uint64_t ticks_per_second,
                                                 config::Errors* errors) {
  const auto root = config::ParseJson(text, errors, engine::logmon::kMaxConfigBytes);
  if (!root) return std::nullopt;
  const size_t before = errors->size();
  config::ObjectReader reader(*root, "", errors);
  LogmonSettings settings;
  MonitorOptions& monitor = settings.monitor;
  monitor.line_ports = {5140};
  ReadPorts(reader, "syslog_ports", errors, &monitor.syslog_ports);
  ReadPorts(reader, "line_ports", errors, &monitor.line_ports);
  ReadPorts(reader, "tcp_ports", errors, &monitor.tcp_ports);
  ReadPorts(reader, "syslog_tcp_ports", errors, &monitor.syslog_tcp_ports);
  if (Share(monitor.syslog_ports, monitor.line_ports)) {
    reader.Complain("line_ports", "a port is also in syslog_ports: give other ports");
  }
  if (Share(monitor.syslog_tcp_ports, monitor.tcp_ports)) {
    reader.Complain("tcp_ports", "must not contain a port that is also in syslog_tcp_ports");
  }
  reader.Flag("pass_on", &monitor.pass_on);
  reader.Whole("sources", 1, 16'777'216, &monitor.max_sources);
  reader.Whole("line_bytes", 256, 262'144, &monitor.scan.line_bytes);
  double idle_s = 300;
  reader.Real("idle_s", 0, 1e6, &idle_s);
  monitor.idle_cycles = static_cast<uint64_t>(idle_s * static_cast<double>(ticks_per_second));
  monitor.gap_cycles = kGapSeconds * ticks_per_second;
  monitor.session_cycles = kSessionSeconds * ticks_per_second;
  settings.host = ReadHost(reader);
  settings.filters = engine::logmon::ReadFilters(reader, folder, errors);
  reader.Finish();
  if (errors->size() != before) return std::nullopt;
  return settings;
}

struct ScanFigure {
  const char* name;
  uint64_t ScanCounters::*member;
};
constexpr std::array kScanFigures{ScanFigure{"lines", &ScanCounters::lines},
                                  ScanFigure{"matched_lines", &ScanCounters::matched_lines},
                                  ScanFigure{"asked", &ScanCounters::asked},
                                  ScanFigure{"given_up", &ScanCounters::given_up},
                                  ScanFigure{"unread_json", &ScanCounters::unread_json},
                                  ScanFigure{"truncated_lines", &ScanCounters::truncated_lines},
                                  ScanFigure{"torn_lines", &ScanCounters::torn_lines},
                                  ScanFigure{"no_memory_lines", &ScanCounters::no_memory_lines}};

/// The counters of the monitors, in the order of the counter names.
class Figures {
 public:
  static constexpr size_t kScan = kScanFigures.size();
  static constexpr size_t kSize = kScan + SourceCounters::kEvents;

  static std::string_view Name(size_t i) {
    return i < kScan ? kScanFigures[i].name : SourceCounters::kNames[i - kScan];
  }
  void Add(size_t i, uint64_t value) { values_[i] += value; }
  uint64_t operator[](size_t i) const { return values_[i]; }

 private:
  std::array<uint64_t, kSize> values_{};
};

class LogmonWorker;

/// The monitor's sink: counts events, and passes lines to the worker.
class Recorder {
 public:
  Recorder(LogmonWorker& worker, const FilterSet& shown, std::vector<uint64_t>& events)
      : worker_(&worker), shown_(shown), events_(&events) {}

  void OnMatch(const Source& source, const SyslogHeader* header, const MatchedLine& line,
               uint64_t now);

 private:
  LogmonWorker* worker_;
  FilterSet shown_;
  std::vector<uint64_t>* events_;  ///< One per filter; written by one thread.
};

using Monitor = engine::WithNeighbor<engine::logmon::Monitor<Recorder>>;

/// One worker's state for one configuration.
struct Watch {
  Watch(LogmonWorker& worker, const LogmonSettings& settings, const RuleSet& rules, uint64_t seed)
      : events(settings.filters.about.size()),
        monitor(settings.host, std::in_place, rules, settings.monitor,
                Recorder(worker, settings.Shown(), events), seed) {}

  /// Publishes the scanner's counters for other threads. Called by the worker at the end of each
  /// call, and by DoFinish.
  void Publish() {
    const ScanCounters counters = monitor.engine().scan_counters();
    for (size_t i = 0; i < kScanFigures.size(); ++i) {
      std::atomic_ref(scanned[i])
          .store(counters.*kScanFigures[i].member, std::memory_order_relaxed);
    }
  }
  /// Adds the counters to `figures`. May be called by any thread.
  void AddTo(Figures* figures) {
    for (size_t i = 0; i < kScanFigures.size(); ++i) {
      figures->Add(i, WorkerTotals::Load(scanned[i]));
    }
    const SourceCounters& counters = monitor.engine().counters();
    for (size_t i = 0; i < SourceCounters::kEvents; ++i) {
      figures->Add(Figures::kScan + i, counters.Load(static_cast<SourceCounters::Event>(i)));
    }
  }

  std::vector<uint64_t> events;
  std::array<uint64_t, kScanFigures.size()> scanned{};
  Monitor monitor;
};

/// A configuration and the workers' state for it.
struct Generation {
  LogmonSettings settings;
  std::unique_ptr<const RuleSet> rules;
  std::vector<std::unique_ptr<Watch>> watches;  ///< One per worker.
};

class LogmonWorker final : public sluice_worker {
 public:
  LogmonWorker(uint8_t no_memory, uint32_t number) : sluice_worker(no_memory), number_(number) {}

  /// Must be called before the worker's first call.
  void set_generations(const std::atomic<Generation*>* generations) { generations_ = generations; }
  void Show(const Source& source, const MatchedLine& line, const FilterSet& filters, uint64_t now) {
    uint32_t first = 0;
    while (!filters[first]) ++first;
    AddLine({.text = line.text.data(),
             .source = nullptr,
             .now = now,
             .bytes = static_cast<uint32_t>(line.text.size()),
             .filter = first,
             .truncated = line.truncated,
             .reserved = 0},
            SourceName(source));
  }

 private:
  void Work(FrameBurst& burst, uint64_t now) override {
    Watch& watch = *generations_->load(std::memory_order_acquire)->watches[number_];
    watch.monitor.AtRest(now);
    watch.monitor.ProcessBurst(burst, now);
    watch.Publish();
  }

  const uint32_t number_;
  const std::atomic<Generation*>* generations_ = nullptr;
};

void Recorder::OnMatch(const Source& source, const SyslogHeader* /*header*/,
                       const MatchedLine& line, uint64_t now) {
  for (size_t i = 0; i < events_->size(); ++i) {
    if (line.filters[i]) WorkerTotals::Add((*events_)[i], 1);
  }
  const FilterSet shown = line.filters & shown_;
  if (shown.any()) worker_->Show(source, line, shown, now);
}

class LogmonEngine final : public sluice_engine {
 public:
  LogmonEngine(const Options& options)
      : sluice_engine(kLogmon, Monitor::kDropReasons, 0), seed_(options.seed) {
    ticks_per_second_ = options.ticks_per_second;
    for (uint32_t i = 0; i < options.workers; ++i) {
      auto worker = std::make_unique<LogmonWorker>(no_memory(), i);
      watchers_.push_back(worker.get());
      Add(std::move(worker));
    }
  }
  /// Installs the first configuration. Returns false if it is invalid.
  bool Begin(const ConfigText& text, Errors* errors) {
    std::unique_ptr<Generation> first = Compile(text, errors);
    if (first == nullptr) return false;
    generations_.emplace(std::move(first));
    for (LogmonWorker* const watcher : watchers_) watcher->set_generations(generations_->pointer());
    NameCounters();
    return true;
  }

 private:
  std::unique_ptr<Generation> Compile(const ConfigText& text, Errors* errors) {
    std::optional<LogmonSettings> settings =
        ReadLogmonSettings(text.text, text.folder, ticks_per_second_, errors);
    if (!settings) return nullptr;
    auto generation = std::make_unique<Generation>();
    generation->settings = *std::move(settings);
    std::string error;
    generation->rules = RuleSet::Compile(std::move(generation->settings.filters.filters), &error);
    if (generation->rules == nullptr) {
      config::AddError(errors, "filters: " + error);
      return nullptr;
    }
    for (LogmonWorker* const watcher : watchers_) {
      generation->watches.push_back(
          std::make_unique<Watch>(*watcher, generation->settings, *generation->rules, seed_));
    }
    return generation;
  }

  void VisitCounters(const VisitCounter& visit) const override {
    Figures figures = earlier_;
    for (const auto& watch : generations_->current().watches) watch->AddTo(&figures);
    for (size_t i = 0; i < Figures::kSize; ++i) visit(Figures::Name(i), figures[i]);
  }

  bool DoReplace(const ConfigText& text, Errors* errors) override {
    std::unique_ptr<Generation> next = Compile(text, errors);
    if (next == nullptr) return false;
    const std::unique_ptr<Generation> old = generations_->Replace(std::move(next), workers());
    for (const auto& watch : old->watches) watch->AddTo(&earlier_);
    return true;
  }

  std::optional<std::string> DoReport() override {
    const Generation& now = generations_->current();
    Json report = {{"filters", Json::array()}, {"left_out", now.settings.filters.skipped_rules}};
    for (size_t i = 0; i < now.settings.filters.about.size(); ++i) {
      uint64_t events = 0;
      for (const auto& watch : now.watches) events += WorkerTotals::Load(watch->events[i]);
      report["filters"].push_back(
          {{"name", now.settings.filters.about[i].name}, {"events", events}});
    }
    return report.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  void DoFinish(uint64_t now) override {
    for (const auto& watch : generations_->current().watches) {
      watch->monitor.engine().Finish(now);
      watch->Publish();
    }
  }

  const uint64_t seed_;
  uint64_t ticks_per_second_ = 0;
  std::vector<LogmonWorker*> watchers_;
  std::optional<Swapped<Generation>> generations_;
  Figures earlier_;  ///< Counters of earlier configurations.
};

std::unique_ptr<sluice_engine> Make(const ConfigText& text, const Options& options,
                                    Errors* errors) {
  auto engine = std::make_unique<LogmonEngine>(options);
  return engine->Begin(text, errors) ? std::move(engine) : nullptr;
}

}  // namespace

constinit const Kind kLogmon{"logmon", Make};

}  // namespace sluice::c_api

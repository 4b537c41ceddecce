// SPDX-License-Identifier: BSD-3-Clause
#include "commands.h"

#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "config/json_reader.h"
#include "explain.h"
#include "plan.h"
#include "report.h"
#include "ring_warnings.h"

namespace sluice::maglev {

namespace {

using engine::maglev::Tables;
using Json = nlohmann::ordered_json;

Json Error(const std::string& why) { return {{"error", why}}; }

}  // namespace

std::string Operator::Reload() {
  std::string error = control_.Reload();
  std::fprintf(stderr, "reload: %s\n", error.empty() ? "done" : error.c_str());
  if (error.empty()) PrintWarnings();
  if (error.empty() && steering_ != nullptr) std::fprintf(stderr, "%s\n", Steer().c_str());
  return error;
}

void Operator::ApplyAdditions(const Additions& additions) {
  const std::string error = control_.Add(additions);
  if (error.empty()) {
    size_t skipped = 0;
    control_.View([&](const Config& config, const Tables&) { skipped = config.skipped.size(); });
    std::fprintf(stderr, "etcd: applied %zu VIPs and backends\n", additions.size() - skipped);
    PrintWarnings();
    if (steering_ != nullptr) std::fprintf(stderr, "%s\n", Steer().c_str());
  } else {
    std::fprintf(stderr, "etcd: %s (keeping the configuration)\n", error.c_str());
  }
}

void Operator::PrintWarnings() {
  engine::maglev::Setup setup;
  control_.View([&](const Config& config, const Tables&) { setup = config.setup; });
  PrintRingWarnings(setup);
  PrintSkipped();
}

void Operator::PrintSkipped() {
  const std::scoped_lock lock(skipped_mutex_);
  engine::maglev::SkippedKeys skipped;
  control_.View([&](const Config& config, const Tables&) { skipped = config.skipped; });
  size_t more = 0;
  size_t lines = 0;
  for (const auto& [key, line] : skipped) {
    const auto printed = printed_.find(key);
    if (printed != printed_.end() && printed->second == line) continue;
    if (++lines <= config::kMaxErrors) {
      std::fprintf(stderr, "etcd: skipped %s\n", line.c_str());
    } else {
      ++more;
    }
  }
  if (more != 0) std::fprintf(stderr, "etcd: skipped %zu more invalid keys\n", more);
  printed_ = std::move(skipped);
}

std::string Operator::Steer() {
  const std::scoped_lock lock(steering_mutex_);
  if (steering_ == nullptr)
    return "steering: software (the NIC spreads frames over pipes without flow rules)";
  std::vector<engine::maglev::VipSetup> vips;
  control_.View([&](const Config& config, const Tables&) { vips = config.setup.vips; });
  return "steering: " + steering_->Apply(vips);
}

Json Operator::Backends(const std::string& parameters) const {
  std::string vip = parameters;
  size_t first = 0;
  Json answer = BackendsJson(control_, fleet_, vip, first);
  const size_t comma = parameters.rfind(',');
  if (answer.is_null() && comma != std::string::npos) {
    vip = parameters.substr(0, comma);
    const std::string_view number = std::string_view(parameters).substr(comma + 1);
    const auto [end, error] = std::from_chars(number.begin(), number.end(), first);
    if (error == std::errc() && end == number.end()) {
      answer = BackendsJson(control_, fleet_, vip, first);
    }
  }
  return answer.is_null()
             ? Error("give <vip>, or <vip>,<number> to begin with the backend of that number")
             : answer;
}

Json Operator::ExplainFlow(std::string_view parameters) const {
  const auto flow = ParseFlow(parameters);
  if (!flow) return Error("give tcp|udp <source>:<port> <destination>:<port>");
  Json answer;
  control_.View([&](const Config&, const Tables& tables) { answer = Explain(tables, *flow); });
  return answer;
}

Json Operator::Skipped() const {
  // Maximum entries per answer, because a telemetry answer has at most 16 KiB.
  constexpr size_t kPerAnswer = 80;
  Json answer = Json::object();
  control_.View([&](const Config& config, const Tables&) {
    answer["keys"] = config.skipped.size();
    Json& lines = answer["lines"] = Json::array();
    for (const auto& [key, line] : config.skipped) {
      if (lines.size() < kPerAnswer) lines.push_back(line);
    }
  });
  return answer;
}

Json Operator::PlanFile(const std::string& path) const {
  std::vector<std::string> errors;
  const std::optional<Config> next = control_.ReadOther(path, &errors);
  if (!next) return Error(errors.front());
  const engine::maglev::Setup setup = control_.Effective(*next);
  Json answer;
  control_.View([&](const Config&, const Tables& tables) {
    std::vector<uint32_t> connections;
    fleet_.CountConnections(tables.backends().size(), &connections);
    answer = Plan(tables, setup, std::span<const uint32_t>(connections));
  });
  return answer;
}

std::optional<BackendId> Operator::FindBackend(std::string_view parameters) const {
  for (size_t at = parameters.find('/'); at != std::string_view::npos;
       at = parameters.find('/', at + 1)) {
    const BackendId id{parameters.substr(0, at), parameters.substr(at + 1)};
    if (control_.Has(id)) return id;
  }
  return std::nullopt;
}

std::vector<runtime::TelemetryCommand> Operator::Commands() {
  const auto done = [this](const std::string& error) {
    if (!error.empty()) return Error(error);
    Json answer = {{"result", "done"}};
    control_.View([&](const Config&, const Tables& tables) { answer["epoch"] = tables.epoch(); });
    return answer;
  };
  const auto with_backend = [this, done](std::string (Control::*change)(const BackendId&)) {
    return [this, done, change](std::string_view parameters) {
      const std::optional<BackendId> id = FindBackend(parameters);
      return id ? done((control_.*change)(*id)) : Error("no such backend: give <vip>/<backend>");
    };
  };
  return {
      {"/sluice/maglev/vips", "VIPs and their traffic. No parameters.",
       [this](std::string_view) { return VipsJson(control_, fleet_); }},
      {"/sluice/maglev/backends",
       "Backends of a VIP, beginning with number `first`: state, traffic, connections. Parameters: "
       "vip[,first].",
       [this](std::string_view parameters) { return Backends(std::string(parameters)); }},
      {"/sluice/maglev/explain",
       "Where frames of a flow go, and why. Parameters: tcp|udp source:port destination:port.",
       [this](std::string_view parameters) { return ExplainFlow(parameters); }},
      {"/sluice/maglev/plan",
       "Slots and live flows that would move to other backends with this configuration file. "
       "Parameters: file.",
       [this](std::string_view parameters) { return PlanFile(std::string(parameters)); }},
      {"/sluice/maglev/skipped",
       "Invalid keys of etcd, which the configuration ignores. No parameters.",
       [this](std::string_view) { return Skipped(); }},
      {"/sluice/maglev/reload", "Reads the file of --config again. No parameters.",
       [this, done](std::string_view) { return done(Reload()); }},
      {"/sluice/maglev/drain", "Drains a backend: it gets no new flows. Parameters: vip/backend.",
       with_backend(&Control::Drain)},
      {"/sluice/maglev/restore",
       "Ends the drain of a backend: it gets new flows again. Parameters: vip/backend.",
       with_backend(&Control::Restore)},
  };
}

}  // namespace sluice::maglev

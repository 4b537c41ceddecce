// SPDX-License-Identifier: BSD-3-Clause
//
// Kind "maglev": the load balancer, with the configuration of sluice-maglev.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "c_api/engine.h"
#include "c_api/swapped.h"
#include "engine/maglev/balancer.h"
#include "engine/maglev/config/config.h"
#include "engine/maglev/tables.h"
#include "engine/maglev/totals.h"

namespace sluice::c_api {
namespace {

using engine::maglev::BackendSetup;
using engine::maglev::Balancer;
using engine::maglev::BalancerCounters;
using engine::maglev::BalancerTotals;
using engine::maglev::Config;
using engine::maglev::NewOwners;
using engine::maglev::Setup;
using engine::maglev::Tables;
using engine::maglev::Traffic;
using engine::maglev::TrafficByOwner;
using engine::maglev::VipSetup;
using Json = nlohmann::ordered_json;

class MaglevWorker final : public sluice_worker {
 public:
  MaglevWorker(uint8_t no_memory, const std::atomic<const Tables*>* tables, const Options& options)
      : sluice_worker(no_memory), balancer_(tables, options.seed, options.ticks_per_second) {
    balancer_.AtRest(options.now);
  }
  const Balancer& balancer() const { return balancer_; }

 private:
  void Work(FrameBurst& burst, uint64_t now) override {
    balancer_.AtRest(now);
    balancer_.ProcessBurst(burst, now);
  }

  Balancer balancer_;
};

/// Maps the names of VIPs and backends to indices: the setup identifies VIPs and backends by name,
/// but the counters identify them by index.
class Indices {
 public:
  explicit Indices(const Tables& tables) {
    for (const auto& vip : tables.vips()) {
      if (vip.in_use) vips_[tables.VipName(vip.index)] = vip.index;
    }
    for (size_t i = 0; i < tables.backends().size(); ++i) {
      const auto& backend = tables.backends()[i];
      if (backend.generation == 0) continue;
      const auto index = static_cast<uint16_t>(i);
      backends_[{tables.VipName(backend.vip), tables.BackendName(index)}] = index;
    }
  }
  Traffic Of(const VipSetup& vip, const BalancerTotals& totals) const {
    const auto found = vips_.find(vip.name);
    return found == vips_.end() ? Traffic() : totals.by_vip[found->second];
  }
  Traffic Of(const VipSetup& vip, const BackendSetup& backend, const BalancerTotals& totals) const {
    const auto found = backends_.find({vip.name, backend.name});
    return found == backends_.end() ? Traffic() : totals.by_backend[found->second];
  }

 private:
  std::map<std::string, uint16_t> vips_;
  std::map<std::pair<std::string, std::string>, uint16_t> backends_;
};

class MaglevEngine final : public sluice_engine {
 public:
  MaglevEngine(const Setup& setup, const Options& options)
      : sluice_engine(kMaglev, Balancer::kDropReasons, Balancer::kHeadroomBytes),
        tables_(Tables::Build(setup, nullptr)) {
    for (uint32_t i = 0; i < options.workers; ++i) {
      auto worker = std::make_unique<MaglevWorker>(no_memory(), tables_.pointer(), options);
      balancers_.push_back(&worker->balancer());
      Add(std::move(worker));
    }
    NameCounters();
  }

 private:
  void VisitCounters(const VisitCounter& visit) const override {
    const BalancerTotals totals = traffic_.Count(balancers_, 0, 0);
    for (size_t i = 0; i < totals.events.size(); ++i) {
      visit(BalancerCounters::kNames[i], totals.events[i]);
    }
    visit("epoch", tables_.current().epoch());
  }

  bool DoReplace(const ConfigText& text, Errors* errors) override {
    const std::optional<Config> next = engine::maglev::ParseConfig(text.text, errors);
    if (!next) return false;
    const Tables& before = tables_.current();
    const std::string fixed = FixedDifference(before.setup(), next->setup);
    if (!fixed.empty()) {
      config::AddError(errors, "cannot change while workers run: " + fixed);
      return false;
    }
    std::unique_ptr<const Tables> tables = Tables::Build(next->setup, &before);
    const NewOwners owners = NewOwners::Of(before, *tables);
    tables_.Replace(std::move(tables), workers());
    if (!owners.empty()) traffic_.Restart(balancers_, owners);
    return true;
  }

  std::optional<std::string> DoReport() override {
    const Tables& tables = tables_.current();
    const BalancerTotals totals =
        traffic_.Count(balancers_, tables.vips().size(), tables.backends().size());
    const Indices indices(tables);
    const auto tell = [](Json& json, const Traffic& traffic) {
      json["packets"] = traffic.pkts;
      json["bytes"] = traffic.bytes;
    };
    Json report = {{"epoch", tables.epoch()}, {"vips", Json::array()}};
    for (const VipSetup& vip : tables.setup().vips) {
      Json one = {{"name", vip.name}, {"address", vip.prefix().ToString()}, {"port", vip.port}};
      tell(one, indices.Of(vip, totals));
      one["backends"] = Json::array();
      for (const BackendSetup& backend : vip.backends) {
        Json entry = {{"name", backend.name},
                      {"address", backend.address.ToString()},
                      {"state", StateName(backend.state)}};
        tell(entry, indices.Of(vip, backend, totals));
        one["backends"].push_back(std::move(entry));
      }
      report["vips"].push_back(std::move(one));
    }
    return report.dump();
  }

  Swapped<const Tables> tables_;
  TrafficByOwner traffic_;
  std::vector<const Balancer*> balancers_;
};

std::unique_ptr<sluice_engine> Make(const ConfigText& text, const Options& options,
                                    Errors* errors) {
  const std::optional<Config> config = engine::maglev::ParseConfig(text.text, errors);
  return config ? std::make_unique<MaglevEngine>(config->setup, options) : nullptr;
}

}  // namespace

constinit const Kind kMaglev{"maglev", Make};

}  // namespace sluice::c_api

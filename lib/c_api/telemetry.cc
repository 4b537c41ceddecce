// SPDX-License-Identifier: BSD-3-Clause
//
// Kind "telemetry": counts flows. Its configuration members are named like sluice-telemetry's
// flags.
#include <cmath>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "c_api/engine.h"
#include "engine/telemetry/collector.h"
#include "engine/telemetry/export/epoch_json.h"
#include "engine/telemetry/key_list.h"
#include "engine/telemetry/meter.h"
#include "engine/telemetry/setup.h"

namespace sluice::c_api {
namespace {

using engine::telemetry::Collector;
using engine::telemetry::Epoch;
using engine::telemetry::EpochReport;
using engine::telemetry::Meter;
using engine::telemetry::Setup;

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();

std::optional<Setup> ReadSetup(std::string_view text, uint64_t seed, Errors* errors) {
  const auto root = config::ParseJson(text, errors);
  if (!root) return std::nullopt;
  const size_t before = errors->size();
  config::ObjectReader reader(*root, "", errors);
  Setup setup;
  setup.seed = seed;
  reader.Parsed("keys",
                "5-tuple, source, destination, or prefixes such as source/24 or source/24,64, "
                "separated by commas",
                engine::telemetry::ParseKeys, &setup.keys);
  reader.Parsed("sketch", "count_sketch or count_min", engine::telemetry::SketchByName,
                &setup.sketch);
  reader.Parsed("pace", "fixed, correct or line_rate", engine::telemetry::PaceByName, &setup.pace);
  // Setup::Error checks the limits of these numbers.
  for (const auto& [name, member] : {std::pair{"rows", &Setup::rows},
                                     {"columns", &Setup::columns},
                                     {"top_k", &Setup::top_k},
                                     {"exact_flows", &Setup::exact_flows},
                                     {"levels", &Setup::levels},
                                     {"level_columns", &Setup::level_columns},
                                     {"level_top_k", &Setup::level_top_k},
                                     {"oracle_one_in", &Setup::oracle_one_in},
                                     {"oracle_flows", &Setup::oracle_flows}}) {
    reader.Whole(name, 0, kMax32, &(setup.*member));
  }
  for (const auto& [name, member] : {std::pair{"probability", &Setup::probability},
                                     {"full_rate_pps", &Setup::full_rate_pps},
                                     {"heavy_hitter_share", &Setup::heavy_hitter_share},
                                     {"change_share", &Setup::change_share},
                                     {"confidence", &Setup::confidence}}) {
    reader.Real(name, 0, 1e12, &(setup.*member));
  }
  double epoch_s = 1;
  if (reader.Real("epoch_s", 0.001, 3600, &epoch_s)) {
    setup.epoch_ns = static_cast<uint64_t>(std::llround(epoch_s * 1e9));
  }
  reader.Finish();
  if (const std::string error = setup.Error(); errors->size() == before && !error.empty()) {
    config::AddError(errors, error);
  }
  if (errors->size() != before) return std::nullopt;
  return setup;
}

class TelemetryWorker final : public sluice_worker {
 public:
  TelemetryWorker(uint8_t no_memory, Meter& meter) : sluice_worker(no_memory), meter_(meter) {}

 private:
  void Work(FrameBurst& burst, uint64_t now) override {
    meter_.AtRest(now);
    meter_.ProcessBurst(burst, now);
  }

  Meter& meter_;
};

class TelemetryEngine final : public sluice_engine {
 public:
  TelemetryEngine(const Setup& setup, const Options& options)
      : sluice_engine(kTelemetry, Meter::kDropReasons, 0), confidence_(setup.confidence) {
    for (uint32_t i = 0; i < options.workers; ++i) {
      meters_.push_back(std::make_unique<Meter>(setup, i, options.ticks_per_second, options.now));
      Add(std::make_unique<TelemetryWorker>(no_memory(), *meters_.back()));
    }
    collector_.emplace(setup, options.ticks_per_second, meters_,
                       [this](const EpochReport& report, const Epoch&) { Keep(report); });
    NameCounters();
  }

 private:
  void VisitCounters(const VisitCounter& visit) const override { visit("epochs", epochs_); }

  std::optional<std::string> DoReport() override {
    collector_->PublishEpoch();
    if (reports_.empty()) return std::nullopt;
    std::string oldest = std::move(reports_.front());
    reports_.pop_front();
    return oldest;
  }
  void DoFinish(uint64_t now) override { collector_->Finish(now); }

  void Keep(const EpochReport& report) {
    ++epochs_;
    // Times are relative to the origin of the program's clock.
    reports_.push_back(engine::telemetry::EpochJson(report, 0, confidence_).dump());
  }

  const double confidence_;
  Collector::Meters meters_;
  std::optional<Collector> collector_;
  std::deque<std::string> reports_;  ///< Unread reports; more than one only after Finish.
  uint64_t epochs_ = 0;
};

std::unique_ptr<sluice_engine> Make(const ConfigText& text, const Options& options,
                                    Errors* errors) {
  const std::optional<Setup> setup = ReadSetup(text.text, options.seed, errors);
  return setup ? std::make_unique<TelemetryEngine>(*setup, options) : nullptr;
}

}  // namespace

constinit const Kind kTelemetry{"telemetry", Make};

}  // namespace sluice::c_api

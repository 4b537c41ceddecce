// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/collector.h"

#include <optional>
#include <utility>

namespace sluice::engine::telemetry {

Collector::Collector(const Setup& setup, uint64_t cycles_per_second, Meters& meters,
                     Publish publish)
    : meters_(meters), analyst_(setup, cycles_per_second), publish_(std::move(publish)) {}

bool Collector::PublishEpoch() {
  std::vector<const Epoch*> epochs;
  for (const std::unique_ptr<Meter>& meter : meters_) {
    const Epoch* const closed = meter->Closed();
    if (closed == nullptr) return false;
    epochs.push_back(closed);
  }
  Report(epochs);
  for (const std::unique_ptr<Meter>& meter : meters_) meter->Release();
  return true;
}

void Collector::Report(std::span<const Epoch* const> epochs) {
  if (const std::optional<EpochReport> report = analyst_.Report(epochs))
    publish_(*report, analyst_.merged());
}

void Collector::Finish(uint64_t now) {
  // Finish fails for a worker whose previous epoch is not yet published. The previous epochs are
  // published first, then the current epochs of these workers.
  std::vector<Meter*> ahead;
  for (const std::unique_ptr<Meter>& meter : meters_) {
    if (!meter->Finish(now)) ahead.push_back(meter.get());
  }
  PublishEpoch();
  std::vector<const Epoch*> rest;
  for (Meter* const meter : ahead) {
    meter->Finish(now);
    rest.push_back(meter->Closed());
  }
  if (!rest.empty()) Report(rest);
  for (Meter* const meter : ahead) meter->Release();
}

}  // namespace sluice::engine::telemetry

// SPDX-License-Identifier: BSD-3-Clause
#include "epoch_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::telemetry {

using engine::telemetry::Epoch;
using engine::telemetry::EpochReport;
using engine::telemetry::Meter;

EpochReader::EpochReader(const engine::telemetry::Setup& setup, uint64_t cycles_per_second,
                         Meters& meters,
                         std::function<void(const EpochReport&)> publish)
    : meters_(meters),
      analyst_(setup, cycles_per_second),
      publish_(std::move(publish)),
      pause_(std::clamp<uint64_t>(setup.epoch_ns / 16, 1'000'000, 50'000'000)),
      thread_([this] { Main(); }) {}

EpochReader::~EpochReader() { Stop(); }

void EpochReader::Main() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const bool took = Take();
    lock.lock();
    if (!took) stop_asked_.wait_for(lock, pause_, [this] { return stop_; });
  }
}

void EpochReader::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  stop_asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool EpochReader::Take() {
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

void EpochReader::Report(std::span<const Epoch* const> epochs) {
  if (const std::optional<EpochReport> report = analyst_.Report(epochs)) publish_(*report);
}

void EpochReader::Finish(uint64_t now) {
  if (std::exchange(finished_, true)) return;
  Stop();
  // Workers that have closed an epoch already have begun another one, which comes second.
  std::vector<Meter*> ahead;
  for (const std::unique_ptr<Meter>& meter : meters_) {
    if (!meter->Finish(now)) ahead.push_back(meter.get());
  }
  Take();
  std::vector<const Epoch*> rest;
  for (Meter* const meter : ahead) {
    meter->Finish(now);
    rest.push_back(meter->Closed());
  }
  if (!rest.empty()) Report(rest);
  for (Meter* const meter : ahead) meter->Release();
}

}  // namespace sluice::telemetry

// SPDX-License-Identifier: BSD-3-Clause
#include "epoch_reader.h"

#include <algorithm>
#include <utility>

namespace sluice::telemetry {

EpochReader::EpochReader(const engine::telemetry::Setup& setup, uint64_t cycles_per_second,
                         Meters& meters, engine::telemetry::Collector::Publish publish)
    : collector_(setup, cycles_per_second, meters, std::move(publish)),
      pause_(std::clamp<uint64_t>(setup.epoch_ns / 16, 1'000'000, 50'000'000)),
      thread_([this] { Main(); }) {}

EpochReader::~EpochReader() { Stop(); }

void EpochReader::Main() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const bool took = collector_.PublishEpoch();
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

void EpochReader::Finish(uint64_t now) {
  if (std::exchange(finished_, true)) return;
  Stop();
  collector_.Finish(now);
}

}  // namespace sluice::telemetry

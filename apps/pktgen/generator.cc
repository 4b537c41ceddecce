// SPDX-License-Identifier: BSD-3-Clause
#include "generator.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace sluice::pktgen {

Generator::Generator(const Settings& settings, uint32_t workers, uint64_t line_bps, uint64_t hz)
    : settings_(settings), line_bps_(line_bps), clock_(hz), places_(workers) {}

std::unique_ptr<Round> Generator::Begin(const std::vector<engine::pktgen::StreamSpec>& streams,
                                        uint64_t end_ps, std::string* error) {
  std::unique_ptr<Round> round =
      Round::Make(settings_, streams,
                  {.workers = static_cast<uint32_t>(places_.size()),
                   // A test never offers more than the line rate, except for the rounding of gaps.
                   .line_bps = settings_.rfc2544 ? 0 : line_bps_,
                   .end_ps = end_ps,
                   .run = static_cast<uint16_t>(std::random_device()())},
                  clock_, error);
  if (round == nullptr) return nullptr;
  refused_before_ = RefusedByQueues();
  round_.store(round.get(), std::memory_order_release);
  return round;
}

void Generator::Gather() { AwaitWorkersAt(round()); }

void Generator::End() {
  round_.store(nullptr, std::memory_order_release);
  AwaitWorkersAt(nullptr);
}

void Generator::AwaitWorkersAt(const Round* round) const {
  while (!std::ranges::all_of(places_, [round](const WorkerPlace& place) {
    return place.at.load(std::memory_order_acquire) == round;
  })) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

uint64_t Generator::RefusedByQueues() const {
  uint64_t refused = 0;
  for (const WorkerPlace& place : places_) {
    if (place.queue == nullptr) continue;
    refused += nic::QueueCounters::Load(place.queue->tx_full) +
               nic::QueueCounters::Load(place.queue->tx_unframeable);
  }
  return refused;
}

}  // namespace sluice::pktgen

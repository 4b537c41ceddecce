// SPDX-License-Identifier: BSD-3-Clause
//
// Kind "neighbor": answers ARP, neighbour discovery and echo requests; all other frames pass.
#include "engine/neighbor/neighbor.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "c_api/engine.h"
#include "c_api/host.h"

namespace sluice::c_api {
namespace {

using engine::Neighbor;

class NeighborWorker final : public sluice_worker {
 public:
  NeighborWorker(uint8_t no_memory, const Neighbor& neighbor)
      : sluice_worker(no_memory), neighbor_(neighbor) {}

 private:
  void Work(FrameBurst& burst, uint64_t now) override {
    std::optional<packet::Verdict> verdict;
    packet::DivideBurst(
        burst,
        [&](packet::Frame& frame) { return (verdict = neighbor_.Process(frame, now)).has_value(); },
        [&](packet::Frame& /*frame*/) { return *verdict; },
        [](auto& rest) {
          for (uint32_t i = 0; i < rest.size(); ++i) rest.Answer(i, rest.At(i), packet::kPass);
        });
  }

  const Neighbor neighbor_;
};

class NeighborEngine final : public sluice_engine {
 public:
  NeighborEngine(const Neighbor& neighbor, const Options& options)
      : sluice_engine(kNeighbor, Neighbor::kDropReasons, 0) {
    for (uint32_t i = 0; i < options.workers; ++i) {
      Add(std::make_unique<NeighborWorker>(no_memory(), neighbor));
    }
    NameCounters();
  }

 private:
  void VisitCounters(const VisitCounter& /*visit*/) const override {}
};

std::unique_ptr<sluice_engine> Make(const ConfigText& text, const Options& options,
                                    Errors* errors) {
  const auto root = config::ParseJson(text.text, errors);
  if (!root) return nullptr;
  const size_t before = errors->size();
  config::ObjectReader reader(*root, "", errors);
  reader.Require("ip");
  const Neighbor neighbor(ReadHost(reader));
  reader.Finish();
  if (errors->size() != before) return nullptr;
  return std::make_unique<NeighborEngine>(neighbor, options);
}

}  // namespace

constinit const Kind kNeighbor{"neighbor", Make};

}  // namespace sluice::c_api

// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/flow_estimator.h"

namespace sluice::engine::telemetry {

std::string_view NameOf(CountedBy counted_by) {
  switch (counted_by) {
    case CountedBy::kTable:
      return "table";
    case CountedBy::kSketch:
      return "sketch";
    case CountedBy::kBoth:
      break;
  }
  return "both";
}

FlowEstimator::Counts FlowEstimator::Of(uint64_t hash) const {
  const ExactFlows::Flow* const exact = counter_.exact().Find(hash);
  Counts counts{{}, {}, CountedBy::kTable};
  if (!counter_.exact().Counts(hash)) {
    const Estimator::Counts later = sketch_.Of(hash);
    counts = {later.packets, later.bytes, exact == nullptr ? CountedBy::kSketch : CountedBy::kBoth};
  }
  if (exact != nullptr) {
    counts.packets.value += static_cast<double>(exact->pkts);
    counts.bytes.value += static_cast<double>(exact->bytes);
  }
  return counts;
}

std::vector<FlowEstimator::Flow> FlowEstimator::Flows() const {
  std::vector<Flow> flows;
  for (const ExactFlows::Flow& flow : counter_.exact().flows()) {
    flows.push_back({flow.key, flow.hash});
  }
  for (const KnownFlows::Flow& flow : counter_.levels()[0].known.flows()) {
    if (counter_.exact().Find(flow.hash) == nullptr) flows.push_back({flow.key, flow.hash});
  }
  return flows;
}

}  // namespace sluice::engine::telemetry

// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/configure.h"

#include <cstring>

namespace sluice::device::enso {
namespace {

using namespace regs::enso;

/// Returns the slot in one of the formats of regs/enso.h, with its reserved bytes set to zero.
template <typename Format>
Format As(const ConfigWords& slot) {
  static_assert(sizeof(Format) == kFlitBytes);
  Format format{};
  std::memcpy(&format, slot.data(), sizeof(slot));
  return format;
}

/// Returns whether an enable field is set. The hardware evaluates only the top bit.
bool Enabled(uint64_t field) { return field >> 63 != 0; }
bool Enabled(uint32_t field) { return field >> 31 != 0; }

}  // namespace

void Configurator::Apply(const ConfigWords& slot) {
  ++tally_[Event::kTxConfigs];
  switch (static_cast<ConfigId>(slot[1])) {
    case ConfigId::kFlowEntry: {
      const auto flow = As<FlowEntryConfig>(slot);
      const FlowKey key = {.dst_ip = flow.dst_ip,
                           .src_ip = flow.src_ip,
                           .dst_port = flow.dst_port,
                           .src_port = flow.src_port};
      if (!steering_.InsertFlow(key, flow.pipe)) ++tally_[Event::kFlowInsertsLost];
      return;
    }
    case ConfigId::kTimestamp: {
      const auto stamp = As<TimestampConfig>(slot);
      timestamper_.Configure(Enabled(stamp.enable), stamp.offset);
      return;
    }
    case ConfigId::kRateLimit: {
      const auto limit = As<RateLimitConfig>(slot);
      limiter_.Configure(Enabled(limit.enable), limit.numerator, limit.denominator,
                         clock_.Cycles());
      return;
    }
    case ConfigId::kFallback: {
      const auto fallback = As<FallbackConfig>(slot);
      steering_.SetFallback(fallback.count, fallback.mask, Enabled(fallback.enable_round_robin));
      return;
    }
    default:
      ++tally_[Event::kTxConfigsUnknown];
  }
}

}  // namespace sluice::device::enso

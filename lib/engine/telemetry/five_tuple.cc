// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/five_tuple.h"

#include "packet/parse.h"
#include "packet/plain.h"

namespace sluice::engine::telemetry {

std::optional<packet::FlowKey> FiveTupleOf(const uint8_t* frame, uint32_t length) {
  if (packet::IsPlainUdpOrTcp(frame, length)) [[likely]]
    return packet::PlainFlowKey(frame);
  return packet::FlowKey::Of(frame, packet::Parse(frame, length));
}

}  // namespace sluice::engine::telemetry

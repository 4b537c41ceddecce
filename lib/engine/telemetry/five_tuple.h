// SPDX-License-Identifier: BSD-3-Clause
//
// The 5-tuple of a frame.
#pragma once

#include <cstdint>
#include <optional>

#include "packet/bytes.h"
#include "packet/flow_key.h"
#include "packet/plain.h"

namespace sluice::engine::telemetry {

/// As packet::FlowKey::Of says it of packet::Parse: nothing if the frame is not IP or its headers
/// do not hold together; fragments share the key with ports 0. Whole UDP and TCP over IPv4 without
/// tags and options are read without a parse.
std::optional<packet::FlowKey> FiveTupleOf(const uint8_t* frame, uint32_t length);

/// packet::PlainFlowKey, written to `to` word by word: whoever copies or hashes the key reads
/// words, and would wait for narrower stores to leave the processor's store buffer.
inline void WritePlainFlowKey(const uint8_t* frame, packet::FlowKey* to) {
  auto* const bytes = reinterpret_cast<uint8_t*>(to);
  const uint64_t ports =
      uint64_t{packet::LoadBe16(frame + packet::kPlainL4)} |
      uint64_t{packet::LoadBe16(frame + packet::kPlainL4 + 2)} << 16;
  const uint64_t protocol = frame[packet::kPlainProtocol];
  packet::Store(bytes, uint64_t{packet::Load<uint32_t>(frame + packet::kPlainL3 + 12)});
  packet::Store(bytes + 8, uint64_t{0});
  packet::Store(bytes + 16, uint64_t{packet::Load<uint32_t>(frame + packet::kPlainL3 + 16)});
  packet::Store(bytes + 24, uint64_t{0});
  packet::Store(bytes + 32, ports | protocol << 32 | uint64_t{4} << 40);
}

}  // namespace sluice::engine::telemetry

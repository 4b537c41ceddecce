// SPDX-License-Identifier: BSD-3-Clause
#include "packet/partial_checksum.h"

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/parse.h"

namespace sluice::packet {

void CompletePartialChecksum(uint8_t* frame, uint32_t length) {
  const Headers headers = Parse(frame, length);
  if (headers.error != ParseError::kNone || !headers.HasPorts() || headers.IsFragment() ||
      headers.source_routed) {
    return;
  }
  const uint8_t* const ip = frame + headers.l3;
  uint8_t* const l4 = frame + headers.l4;
  const bool udp = headers.protocol == kProtocolUdp;
  const uint32_t bytes = udp ? LoadBe16(l4 + 4) : headers.end - headers.l4;
  const uint64_t pseudo =
      headers.IsIpv6() ? PseudoHeaderSumIpv6(ip, headers.protocol, bytes)
                       : PseudoHeaderSumIpv4(ip, headers.protocol, static_cast<uint16_t>(bytes));
  uint8_t* const field = frame + headers.L4ChecksumOffset();
  if (Load<uint16_t>(field) != FoldSum(pseudo)) return;
  const uint16_t sum = FinishChecksum(SumBytes(l4, bytes));
  Store<uint16_t>(field, udp && sum == 0 ? 0xffff : sum);
}

}  // namespace sluice::packet

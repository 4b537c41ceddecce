// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/workload/popularity.h"
#include "engine/workload/random.h"
#include "packet/bytes.h"
#include "packet/capture.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/imix.h"

namespace sluice::telemetry {

namespace {

using engine::workload::Mix;
using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint32_t kMaxBytes = 1518;
constexpr uint32_t kMinBytes = 64;
constexpr uint32_t kMinTcp6Bytes = 14 + 40 + 20;
constexpr std::array<uint8_t, 12> kMacs{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

// Writes a datagram, or a packet of an established connection. Flows are numbered by popularity.
// Their source addresses are distinct, and in a different order.
void WriteFrame(uint8_t* frame, uint32_t length, uint32_t flow, bool ipv6) {
  std::fill_n(frame, length, uint8_t{0});
  std::ranges::copy(kMacs, frame);
  StoreBe16(frame + 12, ipv6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4);
  const uint64_t mixed = Mix(flow + 1);
  const bool tcp = mixed % 3 != 0;
  const uint8_t protocol = tcp ? packet::kProtocolTcp : packet::kProtocolUdp;
  uint8_t* const ip = frame + packet::kEthernetHeaderBytes;
  const uint32_t bytes = length - packet::kEthernetHeaderBytes;
  const uint32_t header = ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  // The factor is odd, so the mapping is one to one.
  const uint32_t source = (flow + 1) * 0x9e3779b1;
  if (ipv6) {
    ip[0] = 0x60;
    StoreBe16(ip + 4, static_cast<uint16_t>(bytes - header));
    ip[6] = protocol;
    ip[7] = 64;
    StoreBe32(ip + 8, 0x2001'0db8);
    StoreBe32(ip + 20, source);
    StoreBe32(ip + 24, 0x2001'0db8);
    StoreBe32(ip + 28, 1);
    ip[39] = static_cast<uint8_t>(1 + mixed % 16);
  } else {
    ip[0] = 0x45;
    StoreBe16(ip + 2, static_cast<uint16_t>(bytes));
    ip[8] = 64;
    ip[9] = protocol;
    StoreBe32(ip + 12, 0x0a00'0000 | (source & 0xff'ffff));
    StoreBe32(ip + 16, 0xc000'0200 | static_cast<uint32_t>(1 + mixed % 16));
    packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, header)));
  }
  uint8_t* const l4 = ip + header;
  const uint32_t l4_bytes = bytes - header;
  StoreBe16(l4, static_cast<uint16_t>(1024 + (mixed >> 32) % 60'000));
  StoreBe16(l4 + 2, tcp ? 443 : 53);
  if (tcp) {
    l4[12] = 5 << 4;
    l4[13] = 0x10;  // ACK
    StoreBe16(l4 + 14, 0xffff);
  } else {
    StoreBe16(l4 + 4, static_cast<uint16_t>(l4_bytes));
  }
  const uint64_t pseudo = ipv6 ? packet::PseudoHeaderSumIpv6(ip, protocol, l4_bytes)
                               : packet::PseudoHeaderSumIpv4(ip, protocol, l4_bytes);
  const uint16_t checksum = packet::FinishChecksum(packet::SumBytes(l4, l4_bytes, pseudo));
  packet::Store<uint16_t>(l4 + (tcp ? 16 : 6), checksum != 0 ? checksum : 0xffff);
}

}  // namespace

bool WriteTraffic(const TrafficOptions& options, const std::string& path, std::string* error) {
  uint32_t fixed = 0;
  std::from_chars(options.size.data(), options.size.data() + options.size.size(), fixed);
  auto writer = packet::CaptureWriter::Open(path, packet::CaptureWriter::Resolution::kNanoseconds,
                                            kMaxBytes, error);
  if (!writer) return false;
  const engine::workload::Popularity popularity(options.flows, options.zipf);
  engine::workload::Random random(options.seed);
  std::array<uint8_t, kMaxBytes> frame;
  for (uint32_t i = 0; i < kSampleFrames; ++i) {
    const auto flow = static_cast<uint32_t>(popularity.Draw(random));
    const uint32_t size =
        fixed != 0 ? fixed
        : options.size == "imix"
            ? packet::kImixSizes[i % packet::kImixSizes.size()]
            : kMinBytes + static_cast<uint32_t>(random.Below(kMaxBytes - kMinBytes + 1));
    const bool ipv6 = !options.ipv4_only && flow % 4 == 3;
    const uint32_t length = std::max(size - packet::kFcsBytes, ipv6 ? kMinTcp6Bytes : 0);
    WriteFrame(frame.data(), length, flow, ipv6);
    writer->Write({frame.data(), length, length, i});
  }
  return writer->Close(error);
}

}  // namespace sluice::telemetry

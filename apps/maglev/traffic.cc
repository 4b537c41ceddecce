// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <vector>

#include "packet/bytes.h"
#include "packet/capture.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/imix.h"

namespace sluice::maglev {

namespace {

using engine::maglev::BackendSetup;
using engine::maglev::VipSetup;
using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint32_t kMixedFrames = 4096;  // Minimum number of frames for imix and random.
constexpr uint32_t kMaxBytes = 1518;
constexpr uint32_t kMinTcp6Bytes = 14 + 40 + 20 + 4;
constexpr std::array<uint8_t, 12> kMacs{2, 0x53, 0x6c, 0x6c, 0x62, 1, 2, 0x53, 0x6c, 0x67, 0x65, 1};

// Returns whether the packets to the VIP and the forwarded packets are IPv4.
bool IsIpv4(const VipSetup& vip) {
  if (vip.address.ipv6) return false;
  return engine::maglev::RewritesInPlace(vip.encapsulation) ||
         std::ranges::none_of(vip.backends,
                              [](const BackendSetup& backend) { return backend.address.ipv6; });
}

void WriteIpv4(uint8_t* ip, uint32_t bytes, uint32_t flow, const VipSetup& vip) {
  ip[0] = 0x45;
  StoreBe16(ip + 2, static_cast<uint16_t>(bytes));
  ip[8] = 64;
  ip[9] = vip.protocol;
  StoreBe32(ip + 12, 0x0a00'0001u + flow);
  std::copy_n(vip.address.bytes.begin(), 4, ip + 16);
  packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, 20)));
}

void WriteIpv6(uint8_t* ip, uint32_t bytes, uint32_t flow, const VipSetup& vip) {
  ip[0] = 0x60;
  StoreBe16(ip + 4, static_cast<uint16_t>(bytes - packet::kIpv6HeaderBytes));
  ip[6] = vip.protocol;
  ip[7] = 64;
  ip[8] = 0xfd;
  StoreBe32(ip + 20, flow + 1);
  std::ranges::copy(vip.address.bytes, ip + 24);
}

// Writes a packet of an established connection, or a datagram.
void WriteFrame(uint8_t* frame, uint32_t length, uint32_t flow, const VipSetup& vip) {
  std::fill_n(frame, length, uint8_t{0});
  std::ranges::copy(kMacs, frame);
  const bool ipv6 = vip.address.ipv6;
  StoreBe16(frame + 12, ipv6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4);
  uint8_t* const ip = frame + packet::kEthernetHeaderBytes;
  const uint32_t bytes = length - packet::kEthernetHeaderBytes;
  (ipv6 ? WriteIpv6 : WriteIpv4)(ip, bytes, flow, vip);
  const uint32_t header = ipv6 ? packet::kIpv6HeaderBytes : packet::kIpv4MinHeaderBytes;
  const uint32_t l4_bytes = bytes - header;
  uint8_t* const l4 = ip + header;
  StoreBe16(l4, static_cast<uint16_t>(1024 + flow * 48271u % 60000));
  StoreBe16(l4 + 2, vip.port != 0 ? vip.port : static_cast<uint16_t>(1024 + flow * 16807u % 60000));
  const bool tcp = vip.protocol == packet::kProtocolTcp;
  if (tcp) {
    l4[12] = 5 << 4;
    l4[13] = 0x10;  // ACK
    StoreBe16(l4 + 14, 0xffff);
  } else {
    StoreBe16(l4 + 4, static_cast<uint16_t>(l4_bytes));
  }
  const uint64_t pseudo = ipv6 ? packet::PseudoHeaderSumIpv6(ip, vip.protocol, l4_bytes)
                               : packet::PseudoHeaderSumIpv4(ip, vip.protocol, l4_bytes);
  const uint16_t checksum = packet::FinishChecksum(packet::SumBytes(l4, l4_bytes, pseudo));
  packet::Store<uint16_t>(l4 + (tcp ? 16 : 6), checksum != 0 ? checksum : 0xffff);
}

}  // namespace

bool WriteTraffic(const engine::maglev::Setup& setup, const TrafficOptions& options,
                  const std::string& path, std::string* error) {
  std::vector<const VipSetup*> vips;
  for (const VipSetup& vip : setup.vips) {
    if (!options.ipv4_only || IsIpv4(vip)) vips.push_back(&vip);
  }
  if (vips.empty()) {
    *error = "no VIP to send traffic to: configure a VIP, or give traffic with --pcap or --wire";
    return false;
  }
  uint32_t fixed = 0;
  std::from_chars(options.size.data(), options.size.data() + options.size.size(), fixed);
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<uint32_t> any(64, kMaxBytes);
  auto writer = packet::CaptureWriter::Open(path, packet::CaptureWriter::Resolution::kNanoseconds,
                                            kMaxBytes, error);
  if (!writer) return false;
  std::array<uint8_t, kMaxBytes> frame;
  const uint32_t frames = fixed != 0 ? options.flows : std::max(options.flows, kMixedFrames);
  for (uint32_t i = 0; i < frames; ++i) {
    const uint32_t flow = i % options.flows;
    const VipSetup& vip = *vips[flow % vips.size()];
    const uint32_t size = fixed != 0 ? fixed
                          : options.size == "imix"
                              ? packet::kImixSizes[i % packet::kImixSizes.size()]
                              : any(random);
    const uint32_t least = vip.address.ipv6 ? kMinTcp6Bytes : 0;
    const uint32_t length = std::max(size - packet::kFcsBytes, least);
    WriteFrame(frame.data(), length, flow, vip);
    writer->Write({frame.data(), length, length, i});
  }
  return writer->Close(error);
}

}  // namespace sluice::maglev

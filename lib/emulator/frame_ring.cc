// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/frame_ring.h"

#include <algorithm>
#include <random>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"
#include "packet/imix.h"

namespace sluice::emulator {
namespace {

using packet::StoreBe16;
using packet::StoreBe32;

/// Number of ring entries for a single frame size and for mixed sizes. The latter is large enough
/// that a branch predictor cannot learn the order of the sizes.
constexpr uint32_t kUniformEntries = 512;
constexpr uint32_t kMixedEntries = 4096;
constexpr size_t kMaxBytes = size_t{1} << 30;

size_t Aligned(uint32_t length) { return (size_t{length} + 63) & ~size_t{63}; }

std::vector<uint32_t> DrawSizes(const GeneratorOptions& options, uint32_t entries,
                                std::mt19937_64& random) {
  using Sizes = GeneratorOptions::Sizes;
  const uint32_t smallest =
      options.tcp ? GeneratorOptions::kMinTcpSize : GeneratorOptions::kMinSize;
  std::vector<uint32_t> sizes(entries);
  std::uniform_int_distribution<uint32_t> uniform(smallest, 1518);
  for (uint32_t i = 0; i < entries; ++i) {
    switch (options.sizes) {
      case Sizes::kList:
        sizes[i] = options.list[i % options.list.size()];
        break;
      case Sizes::kImix:
        sizes[i] = std::max(smallest, packet::kImixSizes[i % packet::kImixSizes.size()]);
        break;
      case Sizes::kRandom:
        sizes[i] = uniform(random);
        break;
    }
  }
  if (options.random_order) std::shuffle(sizes.begin(), sizes.end(), random);
  return sizes;
}

/// Writes a flow's addresses and ports. The source address alone distinguishes flows. The other
/// fields vary so that a hash of only the destination (Ensō on UDP) spreads as well as a hash of
/// all four fields (RSS).
void WriteHeaders(uint8_t* frame, uint32_t length, uint32_t flow, const GeneratorOptions& options) {
  static constexpr uint8_t kSource[6] = {0x02, 0x53, 0x6c, 0x67, 0x65, 0x6e};
  std::copy_n(options.destination.data(), 6, frame);
  std::copy_n(kSource, 6, frame + 6);
  StoreBe16(frame + 12, packet::kEtherTypeIpv4);
  uint8_t* ip = frame + packet::kEthernetHeaderBytes;
  const uint16_t ip_bytes = static_cast<uint16_t>(length - packet::kEthernetHeaderBytes);
  ip[0] = 0x45;
  StoreBe16(ip + 2, ip_bytes);
  ip[8] = 64;
  ip[9] = options.tcp ? packet::kProtocolTcp : packet::kProtocolUdp;
  StoreBe32(ip + 12, 0x0a00'0001u + flow);
  StoreBe32(ip + 16, 0xc0a8'0000u | (flow * 40503u & 0xffff));
  packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, 20)));

  uint8_t* l4 = ip + packet::kIpv4MinHeaderBytes;
  StoreBe16(l4, static_cast<uint16_t>(1024 + flow * 48271u % 60000));
  StoreBe16(l4 + 2, static_cast<uint16_t>(1024 + flow * 16807u % 60000));
  const uint16_t l4_bytes = static_cast<uint16_t>(ip_bytes - packet::kIpv4MinHeaderBytes);
  if (options.tcp) {
    l4[12] = 5 << 4;
    l4[13] = 0x10;  // ACK
    StoreBe16(l4 + 14, 0xffff);
  } else {
    StoreBe16(l4 + 4, l4_bytes);
  }
  const uint64_t sum =
      packet::SumBytes(l4, l4_bytes, packet::PseudoHeaderSumIpv4(ip, ip[9], l4_bytes));
  const uint16_t checksum = packet::FinishChecksum(sum);
  packet::Store<uint16_t>(l4 + (options.tcp ? 16 : 6), checksum != 0 ? checksum : 0xffff);
}

}  // namespace

std::unique_ptr<FrameRing> FrameRing::Build(const GeneratorOptions& options, std::string* error,
                                            uint32_t entries) {
  const bool mixed = options.sizes != GeneratorOptions::Sizes::kList || options.list.size() > 1;
  const uint32_t wanted = std::max(entries, mixed ? kMixedEntries : kUniformEntries);
  std::unique_ptr<FrameRing> ring(new FrameRing);
  ring->flows_ = options.flows;
  ring->nonce_ = Tag::Nonce(options.run);
  ring->per_lap_ = (wanted + options.flows - 1) / options.flows;
  ring->invariant_offset_ = packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes + 1 +
                            (options.tcp ? packet::kTcpMinHeaderBytes : packet::kUdpHeaderBytes);

  std::mt19937_64 random(options.seed);
  const std::vector<uint32_t> sizes = DrawSizes(options, ring->per_lap_ * options.flows, random);
  size_t bytes = 0;
  for (const uint32_t size : sizes) bytes += Aligned(size - packet::kFcsBytes);
  if (bytes <= kMaxBytes) ring->memory_ = AllocateBytes(bytes);
  if (ring->memory_ == nullptr) {
    *error = "wire=gen: flows=" + std::to_string(options.flows) +
             " with frames of this size need " + std::to_string(bytes >> 20) +
             " MiB, more than the limit of " + std::to_string(kMaxBytes >> 20) +
             " MiB or the available memory: give fewer flows or a smaller size";
    return nullptr;
  }
  ring->Lay(options, sizes);
  return ring;
}

void FrameRing::Lay(const GeneratorOptions& options, std::span<const uint32_t> sizes) {
  const uint32_t entries = static_cast<uint32_t>(sizes.size());
  std::mt19937_64 random(options.seed + 1);
  std::vector<uint32_t> order(entries);
  for (uint32_t i = 0; i < entries; ++i) order[i] = i % flows_;
  if (options.random_order) std::shuffle(order.begin(), order.end(), random);

  std::vector<uint32_t> rank(flows_, 0);  // Number of frames in the flow so far.
  uint8_t* frame = memory_.get();
  for (uint32_t i = 0; i < entries; ++i) {
    const uint32_t length = sizes[i] - packet::kFcsBytes;
    std::fill_n(frame, invariant_offset_, uint8_t{0});
    for (uint32_t at = invariant_offset_ - 1; at < length; ++at) {
      frame[at] = static_cast<uint8_t>(random());
    }
    // The tag starts one lap early: the first stamp then sets the sequence number to the frame's
    // rank.
    const uint32_t before = rank[order[i]]++ - per_lap_;
    uint8_t* tag = frame + length - kTagBytes;
    StampTag(tag, before);
    packet::Store<uint32_t>(tag + 8, i);
    packet::Store<uint32_t>(tag + 12, i ^ nonce_);
    WriteHeaders(frame, length, order[i], options);
    frames_.push_back({frame, length});
    tags_.push_back(tag);
    expected_.push_back({order[i], length});
    frame += Aligned(length);
  }
}

}  // namespace sluice::emulator

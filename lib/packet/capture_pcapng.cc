// SPDX-License-Identifier: BSD-3-Clause
#include "packet/capture_pcapng.h"

#include <pcap/pcap.h>

#include <algorithm>

#include "packet/bytes.h"

namespace sluice::packet {

namespace {

using Status = CaptureReader::Status;

// Block types.
constexpr uint32_t kSection = 0x0a0d0d0a;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kObsoletePacket = 2;
constexpr uint32_t kSimplePacket = 3;
constexpr uint32_t kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
// Option codes of interfaces and packets.
constexpr uint16_t kTicks = 9;
constexpr uint16_t kFcsBytes = 13;
constexpr uint16_t kClockOffset = 14;
constexpr uint16_t kFlags = 2;

constexpr uint32_t kFrameBytes = 12;  // Size of a block's type and its two length fields.
constexpr uint32_t kMostBlockBytes = 16 << 20;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint32_t Swap(uint32_t word) { return __builtin_bswap32(word); }

}  // namespace

uint32_t PcapngReader::Word(size_t at) const {
  const auto word = Load<uint32_t>(&body_[at]);
  return swapped_ ? Swap(word) : word;
}

uint16_t PcapngReader::Short(size_t at) const {
  const auto word = Load<uint16_t>(&body_[at]);
  return swapped_ ? __builtin_bswap16(word) : word;
}

template <typename See>
void PcapngReader::Options(size_t at, const See& see) const {
  while (at + 4 <= body_.size()) {
    const uint16_t code = Short(at);
    const size_t bytes = Short(at + 2);
    if (code == 0 || bytes > body_.size() - at - 4) return;
    see(code, at + 4, bytes);
    at += 4 + (bytes + 3) / 4 * 4;
  }
}

// Reads one block. Stores its type in type_ and the bytes between its two length fields in body_.
Status PcapngReader::ReadBlock(std::string* error) {
  const auto read = [&](void* to, size_t bytes) {
    return std::fread(to, 1, bytes, file_) == bytes;
  };
  const auto fail = [&](std::string_view text) {
    *error = text;
    return Status::kError;
  };
  uint32_t head[2];
  const size_t got = std::fread(head, 1, sizeof(head), file_);
  if (got == 0 && std::ferror(file_) == 0) return Status::kEnd;
  uint32_t order = 0;
  if (got < sizeof(head)) return fail("truncated pcapng file");
  type_ = head[0];
  const bool section = type_ == kSection;  // The value of kSection is the same in both byte orders.
  if (section) {
    if (!read(&order, sizeof(order))) return fail("truncated pcapng file");
    if (order != kByteOrder && order != Swap(kByteOrder))
      return fail("pcapng section with an invalid byte-order magic");
    swapped_ = order != kByteOrder;
    interfaces_.clear();
  }
  const uint32_t length = swapped_ ? Swap(head[1]) : head[1];
  if (!section && swapped_) type_ = Swap(type_);
  const uint32_t least = kFrameBytes + (section ? sizeof(order) : 0);
  if (length < least || length % 4 != 0 || length > kMostBlockBytes) {
    return fail("pcapng block of " + std::to_string(length) + " bytes");
  }
  body_.resize(length - least + 4);
  if (!read(body_.data(), body_.size())) return fail("truncated pcapng file");
  if (Word(body_.size() - 4) != length) return fail("pcapng block whose two lengths differ");
  body_.resize(body_.size() - 4);
  return Status::kRecord;
}

bool PcapngReader::AddInterface(std::string* error) {
  if (body_.size() < 8) {
    *error = "pcapng interface without its header";
    return false;
  }
  Interface added{.link = Short(0), .snap_bytes = Word(4)};
  bool readable = true;
  Options(8, [&](uint16_t code, size_t at, size_t bytes) {
    if (code == kFcsBytes && bytes == 1) added.fcs_bytes = body_[at];
    if (code == kClockOffset && bytes == 8) {
      const uint64_t first = Word(at), second = Word(at + 4);
      added.offset_s = swapped_ ? first << 32 | second : second << 32 | first;
    }
    if (code != kTicks || bytes != 1) return;
    const uint8_t power = body_[at] & 0x7f;
    const bool binary = (body_[at] & 0x80) != 0;
    readable = power < (binary ? 64 : 20);
    added.ticks = 1;
    for (int i = 0; readable && i < power; ++i) added.ticks *= binary ? 2 : 10;
  });
  interfaces_.push_back(added);
  if (!readable) *error = "pcapng interface with a timestamp resolution beyond 64 bits";
  return readable;
}

bool PcapngReader::ReadPacket(CaptureRecord* record, uint32_t* fcs_bytes,
                              std::string* error) const {
  const bool simple = type_ == kSimplePacket;
  const size_t header = simple ? 4 : 20;
  if (body_.size() < header) {
    *error = "pcapng packet without its header";
    return false;
  }
  const uint32_t number = simple ? 0 : type_ == kObsoletePacket ? Short(0) : Word(0);
  if (number >= interfaces_.size()) {
    *error = "packet refers to interface " + std::to_string(number) +
             ", which the pcapng file does not describe";
    return false;
  }
  const Interface& interface = interfaces_[number];
  if (interface.link != DLT_EN10MB) {
    *error = NotEthernet(interface.link) + " (interface " + std::to_string(number) + ")";
    return false;
  }
  const uint32_t length = Word(simple ? 0 : 16);
  uint32_t captured = simple ? length : Word(12);
  if (simple && interface.snap_bytes > 0) captured = std::min(captured, interface.snap_bytes);
  if (captured > body_.size() - header) {
    *error = "pcapng packet of " + std::to_string(captured) + " bytes, longer than its block";
    return false;
  }
  uint64_t ns = 0;
  if (!simple) {
    const uint64_t ticks = uint64_t{Word(4)} << 32 | Word(8);
    const auto part = static_cast<unsigned __int128>(ticks % interface.ticks) * kNsPerSecond;
    ns = (ticks / interface.ticks + interface.offset_s) * kNsPerSecond +
         static_cast<uint64_t>(part / interface.ticks);
  }
  *fcs_bytes = interface.fcs_bytes;
  Options(header + (captured + size_t{3}) / 4 * 4, [&](uint16_t code, size_t at, size_t bytes) {
    const uint32_t own = code == kFlags && bytes == 4 ? Word(at) >> 5 & 0xf : 0;
    if (!simple && own > 0) *fcs_bytes = own;
  });
  *record = {body_.data() + header, captured, length, ns};
  return true;
}

Status PcapngReader::Next(CaptureRecord* record, uint32_t* fcs_bytes, std::string* error) {
  for (;;) {
    const Status status = ReadBlock(error);
    if (status != Status::kRecord) return status;
    if (type_ == kInterface && !AddInterface(error)) return Status::kError;
    if (type_ == kEnhancedPacket || type_ == kSimplePacket || type_ == kObsoletePacket) {
      return ReadPacket(record, fcs_bytes, error) ? Status::kRecord : Status::kError;
    }
  }
}

}  // namespace sluice::packet

// SPDX-License-Identifier: BSD-3-Clause
#include "packet/defragmenter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::packet {
namespace {

constexpr uint32_t kFragmentHeaderBytes = 8;

/// Offset of a fragment's part of the datagram.
uint32_t PartOf(const Headers& headers) { return headers.l4 != 0 ? headers.l4 : headers.payload; }

/// Bytes of headers that the whole datagram keeps.
uint32_t HeaderBytes(const Headers& headers) {
  return headers.IsIpv6() ? headers.l3 + kIpv6HeaderBytes : PartOf(headers);
}

bool IsMalformed(const uint8_t* frame, const Headers& headers) {
  const uint32_t bytes = headers.end - PartOf(headers);
  const uint32_t counted = headers.IsIpv6() ? 0 : PartOf(headers) - headers.l3;
  return bytes == 0 || (headers.more_fragments && bytes % 8 != 0) ||
         counted + headers.fragment_offset + bytes > 65535 ||
         (!headers.IsIpv6() &&
          !ChecksumHolds(SumBytes(frame + headers.l3, PartOf(headers) - headers.l3)));
}

}  // namespace

Defragmenter::Defragmenter(uint32_t datagrams, uint64_t timeout)
    : timeout_(timeout), entries_(datagrams) {
  for (Entry& entry : entries_) entry.memory.reset(new uint8_t[kMostHeaders + kMostBytes]);
}

bool Defragmenter::Takes(const Headers& headers) {
  return headers.error == ParseError::kNone && headers.IsFragment() &&
         (!headers.IsIpv6() ||
          PartOf(headers) == headers.l3 + kIpv6HeaderBytes + kFragmentHeaderBytes);
}

Defragmenter::Key Defragmenter::KeyOf(const uint8_t* frame, const Headers& headers) {
  Key key{.protocol = headers.protocol, .ipv6 = headers.IsIpv6()};
  const uint8_t* const ip = frame + headers.l3;
  if (key.ipv6) {
    std::copy_n(ip + 8, 32, key.addresses.begin());
    key.identification = LoadBe32(ip + kIpv6HeaderBytes + 4);
  } else {
    std::copy_n(ip + 12, 8, key.addresses.begin());
    key.identification = LoadBe16(ip + 4);
  }
  return key;
}

std::span<const uint8_t> Defragmenter::Take(const uint8_t* frame, const Headers& headers,
                                            uint64_t now) {
  Expire(now);
  if (IsMalformed(frame, headers)) return ++ended_[kMalformed], std::span<const uint8_t>();
  Entry* const entry = Find(KeyOf(frame, headers), now);
  if (entry == nullptr) return ++ended_[kNoRoom], std::span<const uint8_t>();
  ++entry->fragments;
  ++waiting_;
  const uint32_t at = PartOf(headers);
  if (!Add(*entry, headers.fragment_offset, {frame + at, headers.end - at},
           !headers.more_fragments)) {
    return End(*entry, kOverlap), std::span<const uint8_t>();
  }
  if (headers.fragment_offset == 0) {
    entry->headers = HeaderBytes(headers);
    entry->l3 = headers.l3;
    uint8_t* const kept = entry->memory.get() + kMostHeaders - entry->headers;
    std::memcpy(kept, frame, entry->headers);
    // What follows the headers now.
    if (headers.IsIpv6()) kept[headers.l3 + 6] = headers.protocol;
  }
  if (entry->bytes != entry->end) return {};
  const uint32_t ip_bytes = entry->headers - entry->l3;
  if (!headers.IsIpv6() && ip_bytes + entry->end > 65535) {
    return End(*entry, kMalformed), std::span<const uint8_t>();
  }
  waiting_ -= std::exchange(entry->fragments, 0);
  uint8_t* const whole = entry->memory.get() + kMostHeaders - entry->headers;
  uint8_t* const ip = whole + entry->l3;
  if (headers.IsIpv6()) {
    StoreBe16(ip + 4, static_cast<uint16_t>(entry->end));
  } else {
    StoreBe16(ip + 2, static_cast<uint16_t>(ip_bytes + entry->end));
    StoreBe16(ip + 6, 0);
    Store<uint16_t>(ip + 10, 0);
    Store(ip + 10, FinishChecksum(SumBytes(ip, ip_bytes)));
  }
  return {whole, entry->headers + entry->end};
}

Defragmenter::Entry* Defragmenter::Find(const Key& key, uint64_t now) {
  Entry* free = nullptr;
  for (Entry& entry : entries_) {
    if (entry.fragments == 0) {
      free = &entry;
    } else if (entry.key == key) {
      return &entry;
    }
  }
  if (free == nullptr) return nullptr;
  free->key = key;
  free->since = now;
  free->end = free->reached = free->bytes = free->headers = 0;
  free->blocks.reset();
  return free;
}

bool Defragmenter::Add(Entry& entry, uint32_t offset, std::span<const uint8_t> part, bool last) {
  const auto end = static_cast<uint32_t>(offset + part.size());
  if (last && (entry.end != 0 || entry.reached > end)) return false;
  if (entry.end != 0 && end > entry.end) return false;
  for (uint32_t block = offset / 8; block < (end + 7) / 8; ++block) {
    if (entry.blocks[block]) return false;
    entry.blocks.set(block);
  }
  if (last) entry.end = end;
  entry.reached = std::max(entry.reached, end);
  entry.bytes += static_cast<uint32_t>(part.size());
  std::ranges::copy(part, entry.memory.get() + kMostHeaders + offset);
  return true;
}

void Defragmenter::End(Entry& entry, Reason reason) {
  ended_[reason] += entry.fragments;
  waiting_ -= std::exchange(entry.fragments, 0);
}

void Defragmenter::Expire(uint64_t now) {
  if (waiting_ == 0) return;
  for (Entry& entry : entries_) {
    if (entry.fragments != 0 && now - entry.since >= timeout_) End(entry, kTimedOut);
  }
}

}  // namespace sluice::packet

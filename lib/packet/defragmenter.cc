// SPDX-License-Identifier: BSD-3-Clause
#include "packet/defragmenter.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "packet/bytes.h"
#include "packet/checksum.h"

namespace sluice::packet {
namespace {

constexpr uint32_t kFragmentHeaderBytes = 8;

/// Returns the offset of the fragment's data in the frame.
uint32_t PartOf(const Headers& headers) { return headers.l4 != 0 ? headers.l4 : headers.payload; }

/// Returns the number of header bytes that the reassembled datagram keeps.
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

Defragmenter::Defragmenter(uint32_t datagrams, uint64_t timeout, uint64_t seed)
    : timeout_(timeout),
      seed_(seed),
      memory_(new uint8_t[uint64_t{datagrams} * kSlotBytes]),
      free_(datagrams),
      buckets_(std::bit_ceil(datagrams)) {
  uint8_t* slot = memory_.get();
  for (auto entry = free_.begin(); entry != free_.end(); ++entry, slot += kSlotBytes) {
    entry->self = entry;
    entry->payload = slot + kPayloadAt;
  }
}

bool Defragmenter::Accepts(const Headers& headers) {
  return headers.error == ParseError::kNone && headers.IsFragment() &&
         (!headers.IsIpv6() ||
          PartOf(headers) == headers.l3 + kIpv6HeaderBytes + kFragmentHeaderBytes);
}

FlowKey Defragmenter::KeyOf(const uint8_t* frame, const Headers& headers) {
  // A fragment's flow has no ports; the port fields store the identification instead.
  FlowKey key = *FlowKey::Of(frame, headers);
  const uint8_t* const ip = frame + headers.l3;
  if (headers.IsIpv6()) {
    key.source_port = LoadBe16(ip + kIpv6HeaderBytes + 4);
    key.destination_port = LoadBe16(ip + kIpv6HeaderBytes + 6);
    key.protocol = 0;  // The first fragment determines the protocol (RFC 8200 section 4.5).
  } else {
    key.source_port = LoadBe16(ip + 4);
  }
  return key;
}

Defragmenter::Result Defragmenter::Accept(const uint8_t* frame, const Headers& headers,
                                          uint64_t now) {
  if (IsMalformed(frame, headers)) return Drop(kMalformed);
  Expire(now);
  Entry* const entry = Find(KeyOf(frame, headers), now);
  if (entry == nullptr) return Drop(kNoRoom);
  ++entry->fragments;
  ++waiting_;
  const uint32_t at = PartOf(headers);
  if (!Add(*entry, headers.fragment_offset, frame + at, headers.end - at,
           !headers.more_fragments)) {
    return Drop(*entry, kOverlap);
  }
  if (headers.fragment_offset == 0) {
    entry->headers = HeaderBytes(headers);
    entry->l3 = headers.l3;
    uint8_t* const kept = entry->payload - entry->headers;
    std::memcpy(kept, frame, entry->headers);
    // The fragment header is omitted, so the upper-layer header directly follows the IPv6 header.
    if (headers.IsIpv6()) kept[headers.l3 + 6] = headers.protocol;
  }
  if (entry->bytes != entry->end) return {Outcome::kWaits};
  return Finished(*entry);
}

Defragmenter::Result Defragmenter::Finished(Entry& entry) {
  uint8_t* const whole = entry.payload - entry.headers;
  uint8_t* const ip = whole + entry.l3;
  const uint32_t ip_bytes = entry.headers - entry.l3;
  if (ip[0] >> 4 == 6) {
    StoreBe16(ip + 4, static_cast<uint16_t>(entry.end));
  } else {
    if (ip_bytes + entry.end > 65535) return Drop(entry, kMalformed);
    StoreBe16(ip + 2, static_cast<uint16_t>(ip_bytes + entry.end));
    StoreBe16(ip + 6, 0);
    Store<uint16_t>(ip + 10, 0);
    Store(ip + 10, FinishChecksum(SumBytes(ip, ip_bytes)));
  }
  Free(entry);  // The entry's memory contains the datagram until another datagram uses it.
  return {.outcome = Outcome::kWhole, .frame = whole, .length = entry.headers + entry.end};
}

Defragmenter::Entry** Defragmenter::BucketOf(const FlowKey& key) {
  return &buckets_[HashFlowKey(key, seed_) & (buckets_.size() - 1)];
}

Defragmenter::Entry* Defragmenter::Find(const FlowKey& key, uint64_t now) {
  Entry** const bucket = BucketOf(key);
  for (Entry* entry = *bucket; entry != nullptr; entry = entry->next) {
    if (entry->key == key) return entry;
  }
  if (free_.empty()) return nullptr;
  used_.splice(used_.end(), free_, free_.begin());
  Entry& entry = used_.back();
  entry.key = key;
  entry.next = *bucket;
  entry.since = now;
  entry.fragments = entry.end = entry.reached = entry.bytes = entry.headers = 0;
  entry.blocks.reset();
  *bucket = &entry;
  return &entry;
}

uint32_t Defragmenter::Free(Entry& entry) {
  Entry** link = BucketOf(entry.key);
  while (*link != &entry) link = &(*link)->next;
  *link = entry.next;
  // The entry goes to the end of the list, so that the memory of a complete datagram is not reused
  // immediately.
  free_.splice(free_.end(), used_, entry.self);
  waiting_ -= entry.fragments;
  return entry.fragments;
}

Defragmenter::Result Defragmenter::Drop(Entry& entry, Reason reason) {
  End(entry, reason);
  return {Outcome::kDropped, reason};
}

// Adds a fragment to its datagram. Returns false if it overlaps or contradicts another fragment.
bool Defragmenter::Add(Entry& entry, uint32_t offset, const uint8_t* part, uint32_t bytes,
                       bool last) {
  const uint32_t end = offset + bytes;
  if (last && (entry.end != 0 || entry.reached > end)) return false;
  if (entry.end != 0 && end > entry.end) return false;
  for (uint32_t block = offset / 8; block < (end + 7) / 8; ++block) {
    if (entry.blocks[block]) return false;
    entry.blocks.set(block);
  }
  if (last) entry.end = end;
  entry.reached = std::max(entry.reached, end);
  entry.bytes += bytes;
  std::memcpy(entry.payload + offset, part, bytes);
  return true;
}

void Defragmenter::Expire(uint64_t now) {
  while (!used_.empty() && now - used_.front().since > timeout_) End(used_.front(), kTimedOut);
}

void Defragmenter::Finish() {
  while (!used_.empty()) End(used_.front(), kUnfinished);
}

}  // namespace sluice::packet

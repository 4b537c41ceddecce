// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/waiting_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::engine::logmon {
namespace {

constexpr uint32_t kOffsetMask = WaitingBytes::kBlockBytes - 1;

/// Returns whether sequence number `a` is before `b` (RFC 9293 section 3.4).
bool Before(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

}  // namespace

uint32_t WaitingBytes::Block::Next(uint32_t from, bool there) const {
  if (from >= kBlockBytes) return kBlockBytes;
  const uint64_t flip = there ? 0 : ~uint64_t{0};
  uint32_t word = from / 64;
  uint64_t bits = (present[word] ^ flip) & ~uint64_t{0} << from % 64;
  while (bits == 0) {
    if (++word == present.size()) return kBlockBytes;
    bits = present[word] ^ flip;
  }
  return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
}

void WaitingBytes::Block::Keep(uint32_t offset, std::string_view more) {
  const uint32_t end = offset + static_cast<uint32_t>(more.size());
  for (uint32_t at = Next(offset, false); at < end;) {
    const uint32_t stop = std::min(Next(at, true), end);
    std::memcpy(&bytes[at], more.data() + (at - offset), stop - at);
    at = Next(stop, false);
  }
  for (uint32_t at = offset; at < end;) {
    const uint32_t stop = std::min(end, (at / 64 + 1) * 64);
    const uint64_t upto = stop % 64 == 0 ? ~uint64_t{0} : (uint64_t{1} << stop % 64) - 1;
    present[at / 64] |= upto & ~uint64_t{0} << at % 64;
    at = stop;
  }
}

WaitingBytes::WaitingBytes(uint64_t bytes)
    : blocks_(std::clamp<uint64_t>(bytes / sizeof(Block), 1, (1u << 31) - 1) + 1) {
  for (auto number = static_cast<uint32_t>(blocks_.size()); number-- > 1;) {
    blocks_[number].next = free_;
    free_ = number;
  }
}

uint32_t WaitingBytes::Allocate(uint32_t begin) {
  const uint32_t number = free_;
  if (number == 0) return 0;
  Block& block = blocks_[number];
  free_ = block.next;
  ++used_;
  block.next = 0;
  block.begin = begin;
  block.present.fill(0);
  return number;
}

void WaitingBytes::FreeFirst(Waiting& waiting) {
  const uint32_t number = waiting.first;
  waiting.first = blocks_[number].next;
  if (waiting.first == 0) waiting.last = 0;
  blocks_[number].next = free_;
  free_ = number;
  --used_;
}

WaitingBytes::Block* WaitingBytes::BlockAt(Waiting& waiting, uint32_t begin) {
  // Most segments follow all bytes that are already waiting.
  if (waiting.last != 0 && blocks_[waiting.last].begin == begin) return &blocks_[waiting.last];
  const bool behind = waiting.last == 0 || Before(blocks_[waiting.last].begin, begin);
  uint32_t before = behind ? waiting.last : 0;
  uint32_t after = behind ? 0 : waiting.first;
  while (after != 0 && Before(blocks_[after].begin, begin)) {
    before = after;
    after = blocks_[after].next;
  }
  if (after != 0 && blocks_[after].begin == begin) return &blocks_[after];
  const uint32_t number = Allocate(begin);
  if (number == 0) return nullptr;
  blocks_[number].next = after;
  (before == 0 ? waiting.first : blocks_[before].next) = number;
  if (after == 0) waiting.last = number;
  return &blocks_[number];
}

bool WaitingBytes::Keep(Waiting& waiting, uint32_t sequence, std::string_view bytes) {
  while (!bytes.empty()) {
    const uint32_t offset = sequence & kOffsetMask;
    Block* const block = BlockAt(waiting, sequence - offset);
    if (block == nullptr) return false;
    const std::string_view part = bytes.substr(0, kBlockBytes - offset);
    block->Keep(offset, part);
    bytes.remove_prefix(part.size());
    sequence += static_cast<uint32_t>(part.size());
  }
  return true;
}

void WaitingBytes::Advance(Waiting& waiting, uint32_t sequence) {
  while (!waiting.empty()) {
    const Block& block = blocks_[waiting.first];
    const uint32_t from = Before(block.begin, sequence) ? sequence - block.begin : 0;
    if (block.Next(from, true) < kBlockBytes) return;
    FreeFirst(waiting);
  }
}

uint32_t WaitingBytes::FirstFrom(const Waiting& waiting, uint32_t sequence) const {
  const Block& block = blocks_[waiting.first];
  const uint32_t from = Before(block.begin, sequence) ? sequence - block.begin : 0;
  return block.begin + block.Next(from, true);
}

std::string_view WaitingBytes::RunFrom(const Waiting& waiting, uint32_t sequence) const {
  if (waiting.empty()) return {};
  const Block& block = blocks_[waiting.first];
  const uint32_t offset = sequence - block.begin;
  if (offset >= kBlockBytes) return {};
  const uint32_t end = block.Next(offset, false);
  return {&block.bytes[offset], end - offset};
}

void WaitingBytes::Forget(Waiting& waiting) {
  while (!waiting.empty()) FreeFirst(waiting);
}

}  // namespace sluice::engine::logmon

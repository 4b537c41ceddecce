// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/segregated_fit.h"

#include <algorithm>
#include <bit>
#include <new>

#include "engine/kv/word.h"

namespace sluice::engine::kv {
namespace {

constexpr int kTries = 16;

uint64_t InWords(uint64_t bytes) {
  // Offsets have 48 bits.
  if (bytes > uint64_t{1} << 47) throw std::bad_alloc();
  return std::max<uint64_t>(bytes, 4096) / 8 * 8;
}

}  // namespace

SegregatedFit::SegregatedFit(uint64_t bytes)
    : bytes_(InWords(bytes)), mapping_(bytes_ + kReadBeyondBytes) {
  Clear();
}

uint32_t SegregatedFit::ClassOf(uint64_t bytes) {
  if (bytes < 8 * kExact) return static_cast<uint32_t>(bytes / 8);
  const uint32_t log = static_cast<uint32_t>(std::bit_width(bytes)) - 1;
  return kExact + (log - 9) * 8 + static_cast<uint32_t>(bytes >> (log - 3) & 7);
}

void SegregatedFit::Clear() {
  first_.fill(kNone);
  filled_.fill(0);
  allocated_ = 0;
  for (uint64_t at = 0; at < bytes_;) {
    uint64_t size = std::min(bytes_ - at, kMaxBlock);
    // The remainder must be large enough for a block.
    if (const uint64_t left = bytes_ - at - size; left != 0 && left < kMinBlock) size -= kMinBlock;
    StoreWord(block(at).head, Head(size, at != 0, true));
    Insert(at, size);
    at += size;
  }
}

void SegregatedFit::SetPreviousFree(uint64_t end, bool free) {
  if (end == bytes_) return;
  uint32_t& head = block(end).head;
  StoreWord(head, (head & ~2u) | uint32_t{free} << 1);
}

void SegregatedFit::Insert(uint64_t offset, uint64_t bytes) {
  const uint32_t list = ClassOf(bytes);
  const uint64_t next = first_[list];
  Block& inserted = block(offset);
  StoreWord(inserted.next, next);
  StoreWord(inserted.before, kNone);
  StoreWord(footer(offset + bytes), bytes);
  if (next != kNone) StoreWord(block(next).before, offset);
  first_[list] = offset;
  filled_[list / 64] |= uint64_t{1} << (list % 64);
}

void SegregatedFit::Unlink(uint64_t offset) {
  const Block& unlinked = block(offset);
  if (unlinked.next != kNone) StoreWord(block(unlinked.next).before, unlinked.before);
  if (unlinked.before != kNone) {
    StoreWord(block(unlinked.before).next, unlinked.next);
    return;
  }
  const uint32_t list = ClassOf(SizeOf(unlinked.head));
  first_[list] = unlinked.next;
  if (unlinked.next == kNone) filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
}

std::optional<uint64_t> SegregatedFit::Find(uint64_t bytes) const {
  // All blocks of higher classes are long enough, but only some blocks of this class are.
  const uint32_t list = ClassOf(bytes);
  uint64_t at = first_[list];
  for (int i = 0; i < kTries && at != kNone; ++i, at = block(at).next) {
    if (SizeOf(block(at).head) >= bytes) return at;
  }
  uint32_t word = (list + 1) / 64;
  if (word == kWords) return std::nullopt;
  uint64_t bits = filled_[word] & ~uint64_t{0} << ((list + 1) % 64);
  while (bits == 0) {
    if (++word == kWords) return std::nullopt;
    bits = filled_[word];
  }
  return first_[word * 64 + static_cast<uint32_t>(std::countr_zero(bits))];
}

std::optional<uint64_t> SegregatedFit::Allocate(uint64_t bytes) {
  bytes = std::max(RoundUp8(bytes), kMinBlock);
  if (bytes > kMaxBlock) return std::nullopt;
  const auto found = Find(bytes);
  if (!found) return std::nullopt;
  Unlink(*found);
  Block& taken = block(*found);
  const uint64_t all = SizeOf(taken.head);
  const bool previous_free = taken.head & 2;
  const uint64_t left = all - bytes;
  if (left < kMinBlock) {
    bytes = all;
    SetPreviousFree(*found + all, false);
  } else {
    StoreWord(block(*found + bytes).head, Head(left, false, true));
    Insert(*found + bytes, left);
  }
  StoreWord(taken.head, Head(bytes, previous_free, false));
  allocated_ += bytes;
  return found;
}

void SegregatedFit::Free(uint64_t offset) {
  uint64_t start = offset;
  uint64_t size = SizeOf(block(offset).head);
  allocated_ -= size;
  bool previous_free = block(offset).head & 2;
  if (previous_free) {
    const uint64_t previous = footer(offset);
    if (previous + size <= kMaxBlock) {
      start -= previous;
      size += previous;
      Unlink(start);
      previous_free = block(start).head & 2;
    }
  }
  if (const uint64_t end = start + size; end != bytes_ && (block(end).head & 1)) {
    const uint64_t next = SizeOf(block(end).head);
    if (size + next <= kMaxBlock) {
      Unlink(end);
      size += next;
    }
  }
  StoreWord(block(start).head, Head(size, previous_free, true));
  Insert(start, size);
  SetPreviousFree(start + size, true);
}

void SegregatedFit::Shrink(uint64_t offset, uint64_t bytes) {
  Block& shrunk = block(offset);
  const uint64_t all = SizeOf(shrunk.head);
  bytes = std::max(RoundUp8(bytes), kMinBlock);
  if (all < bytes + kMinBlock) return;
  StoreWord(shrunk.head, Head(bytes, shrunk.head & 2, false));
  StoreWord(block(offset + bytes).head, Head(all - bytes, false, false));
  Free(offset + bytes);
}

bool SegregatedFit::IsConsistent() const {
  uint64_t free = 0;
  uint64_t free_blocks = 0;
  uint64_t size = 0;
  bool previous_free = false;
  for (uint64_t at = 0; at < bytes_; at += size) {
    const uint32_t head = block(at).head;
    size = SizeOf(head);
    if (size < kMinBlock || size > bytes_ - at) return false;
    if (((head & 2) != 0) != previous_free) return false;
    const bool is_free = head & 1;
    // A short remainder at the boundary between two initial blocks may be next to a free block.
    if (is_free && previous_free && bytes_ <= kMaxBlock) return false;
    if (is_free) {
      if (footer(at + size) != size) return false;
      free += size;
      ++free_blocks;
    }
    previous_free = is_free;
  }
  for (uint32_t list = 0; list < kClasses; ++list) {
    if ((filled_[list / 64] >> (list % 64) & 1) != (first_[list] != kNone)) return false;
    uint64_t before = kNone;
    for (uint64_t at = first_[list]; at != kNone; before = at, at = block(at).next) {
      if (!(block(at).head & 1) || ClassOf(SizeOf(block(at).head)) != list) return false;
      if (block(at).before != before || free_blocks-- == 0) return false;
    }
  }
  return free_blocks == 0 && free + allocated_ == bytes_;
}

}  // namespace sluice::engine::kv

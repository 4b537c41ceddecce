// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/scan/unfinished_lines.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::logmon {

UnfinishedLines::UnfinishedLines(uint64_t bytes)
    : block_count_(
          static_cast<uint32_t>(std::clamp<uint64_t>(bytes / kBlockBytes, 1, UINT32_MAX) - 1)),
      blocks_(std::make_unique_for_overwrite<Block[]>(uint64_t{block_count_} + 1)) {
  blocks_[0].first.length = 0;
}

uint32_t UnfinishedLines::BlocksOf(uint32_t length) {
  if (length == 0) return 0;
  if (length <= kFirstBytes) return 1;
  return 1 + (length - kFirstBytes + kOtherBytes - 1) / kOtherBytes;
}

uint32_t UnfinishedLines::AllocateBlock() {
  ++in_use_;
  if (free_ == 0) return untouched_++;
  const uint32_t block = free_;
  free_ = blocks_[block].next;
  return block;
}

bool UnfinishedLines::Begin(uint32_t& line, std::string_view bytes) {
  if (bytes.size() > kFirstBytes || in_use_ == block_count_) return Append(line, bytes);
  line = AllocateBlock();
  // Copies a whole block, because a constant-size copy is faster.
  std::memcpy(blocks_[line].first.bytes, bytes.data(), kFirstBytes);
  blocks_[line].first.last = line;
  blocks_[line].first.length = static_cast<uint32_t>(bytes.size());
  return true;
}

bool UnfinishedLines::Append(uint32_t& line, std::string_view bytes) {
  const uint32_t length = Length(line);
  const uint32_t have = BlocksOf(length);
  const uint32_t need = BlocksOf(length + static_cast<uint32_t>(bytes.size()));
  if (need > have && need > block_count_ - in_use_) {
    Drop(line);
    return false;
  }

  uint32_t last;
  char* to;
  uint32_t room;
  if (line == 0) {
    line = last = AllocateBlock();
    to = blocks_[last].first.bytes;
    room = kFirstBytes;
  } else {
    last = blocks_[line].first.last;
    room = kFirstBytes + (have - 1) * kOtherBytes - length;
    to = reinterpret_cast<char*>(&blocks_[last] + 1) - room;
  }
  const char* from = bytes.data();
  size_t left = bytes.size();
  while (left > room) {
    std::memcpy(to, from, room);
    from += room;
    left -= room;
    const uint32_t next = AllocateBlock();
    blocks_[last].next = next;
    last = next;
    to = blocks_[last].bytes;
    room = kOtherBytes;
  }
  std::memcpy(to, from, left);
  blocks_[line].first.last = last;
  blocks_[line].first.length = length + static_cast<uint32_t>(bytes.size());
  return true;
}

void UnfinishedLines::Copy(uint32_t line, char* to) const {
  // Copies whole blocks, because constant-size copies are faster.
  std::memcpy(to, blocks_[line].first.bytes, kFirstBytes);
  const uint32_t length = Length(line);
  uint32_t block = line;
  for (uint32_t done = kFirstBytes; done < length; done += kOtherBytes) {
    block = blocks_[block].next;
    std::memcpy(to + done, blocks_[block].bytes, kOtherBytes);
  }
}

void UnfinishedLines::Drop(uint32_t& line) {
  if (line == 0) return;
  in_use_ -= BlocksOf(Length(line));
  blocks_[blocks_[line].first.last].next = free_;
  free_ = line;
  line = 0;
}

}  // namespace sluice::engine::logmon

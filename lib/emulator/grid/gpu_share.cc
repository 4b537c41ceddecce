// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/gpu_share.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::emulator {

PinnedMemory::Pieces::iterator PinnedMemory::At(uintptr_t at) {
  const auto next = pieces_.upper_bound(at);
  const bool inside = next != pieces_.begin() && std::prev(next)->second.end > at;
  return inside ? std::prev(next) : next;
}

bool PinnedMemory::IsUsed(uintptr_t begin, uintptr_t end) const {
  for (const auto& [first, last] : ranges_) {
    if (first <= begin && last > begin) begin = last;
  }
  return begin >= end;
}

bool PinnedMemory::Take(uintptr_t begin, uintptr_t end, const Pin& pin, const Check& check,
                        uintptr_t* taken, std::string* error) {
  for (uintptr_t& at = *taken = begin; at < end;) {
    auto piece = At(at);
    if (piece == pieces_.end() || piece->first > at) {
      uintptr_t stop = std::min(end, (at / kUnitBytes + 1) * kUnitBytes);
      if (piece != pieces_.end()) stop = std::min(stop, piece->first);
      Undo undo = pin(reinterpret_cast<void*>(at), stop - at, error);
      if (undo == nullptr) return false;
      piece = pieces_.emplace(at, Piece{stop, 0, std::move(undo)}).first;
    } else if (!IsUsed(at, std::min(end, piece->second.end))) {
      *error =
          "on=gpu: memory was freed and mapped again while another NIC of this process uses pages "
          "that were registered with it: use hugepages";
      return false;
    }
    ++piece->second.users;
    at = std::min(end, piece->second.end);
    if (!check(reinterpret_cast<void*>(piece->first), error)) return false;
  }
  return true;
}

void PinnedMemory::Drop(uintptr_t begin, uintptr_t end) {
  for (auto piece = At(begin); piece != pieces_.end() && piece->first < end;) {
    if (--piece->second.users != 0) {
      ++piece;
      continue;
    }
    piece->second.undo();
    piece = pieces_.erase(piece);
  }
}

bool PinnedMemory::Acquire(void* begin, size_t bytes, const Pin& pin, const Check& check,
                           std::string* error) {
  const std::scoped_lock lock(mutex_);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  uintptr_t taken = first;
  if (!Take(first, first + bytes, pin, check, &taken, error)) {
    if (taken != first) Drop(first, taken);
    return false;
  }
  ranges_.emplace(first, first + bytes);
  return true;
}

void PinnedMemory::Release(void* begin, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const auto [same, end] = ranges_.equal_range(first);
  const auto found =
      std::find_if(same, end, [&](const auto& range) { return range.second == first + bytes; });
  if (found == end) return;
  ranges_.erase(found);
  Drop(first, first + bytes);
}

bool GpuBlocks::Reserve(int device, uint32_t blocks, uint32_t processors, std::string* error) {
  const std::scoped_lock lock(mutex_);
  uint32_t& reserved = reserved_[device];
  if (reserved + blocks <= processors) {
    reserved += blocks;
    return true;
  }
  *error = "on=gpu: this NIC needs " + std::to_string(blocks) +
           " blocks, and other NICs of this process use " + std::to_string(reserved) +
           ", but GPU " + std::to_string(device) + " has " + std::to_string(processors) +
           " multiprocessors: give fewer receivers, senders or exchangers, or another index";
  return false;
}

void GpuBlocks::Return(int device, uint32_t blocks) {
  const std::scoped_lock lock(mutex_);
  reserved_[device] -= blocks;
}

GpuShare& GpuShare::OfProcess() {
  static GpuShare share;
  return share;
}

}  // namespace sluice::emulator

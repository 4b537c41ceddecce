// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cassert>
#include <utility>

#include "bar/line_check.h"
#include "fabric/window.h"

namespace sluice::fabric {

HostEnd::HostEnd(WindowPair& pair, EventQueue& queue, uint32_t number)
    : FabricEnd(pair, queue), random_(pair.parameters().seed + number) {}

uint32_t HostEnd::capabilities() const { return pair_.Capabilities(); }

// --- Stores.

void HostEnd::Post(uint32_t index, const bar::Line& line) {
  if (dead_) return;
  const bar::Line stored = pair_.Tears() ? bar::SealLine(line) : line;
  switch (pair_.parameters().host_stores) {
    case HostStores::kWholeLine:
      WriteOutLine(index, stored);
      Compute(costs().mmio_write_line);
      return;
    case HostStores::kUncached:
      for (const uint32_t word : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 0u}) {
        WriteOutWord(index, word, stored.word[word]);
        Compute(costs().mmio_write_uncached);
      }
      return;
    case HostStores::kWriteCombining:
      if (random_() % 1000 < pair_.parameters().early_evictions_permille) {
        const auto before = static_cast<uint32_t>(1 + random_() % (kAllWords - 1));
        StoreWords(index, stored, before);
        WriteOut(std::exchange(buffers_, {}));
        StoreWords(index, stored, kAllWords & ~before);
        WriteOut(std::exchange(buffers_, {}));
      } else {
        StoreWords(index, stored, kAllWords);
      }
      return;
  }
}

void HostEnd::StoreWords(uint32_t index, const bar::Line& line, uint32_t mask) {
  assert(pair_.parameters().host_stores == HostStores::kWriteCombining);
  Buffer& buffer = buffers_[index];
  for (uint32_t word = 0; word < line.word.size(); ++word) {
    if ((mask >> word & 1) != 0) buffer.line.word[word] = line.word[word];
  }
  buffer.mask |= mask;
  if (buffer.mask != kAllWords) return;
  WriteOutLine(index, buffer.line);
  buffers_.erase(index);
  Compute(costs().mmio_write_line);
}

/// Writes out partially filled buffers, as words in random order.
void HostEnd::WriteOut(std::map<uint32_t, Buffer> buffers) {
  struct Store {
    uint32_t index;
    uint32_t word;
    uint64_t value;
  };
  std::vector<Store> stores;
  for (const auto& [index, buffer] : buffers) {
    for (uint32_t word = 0; word < buffer.line.word.size(); ++word) {
      if ((buffer.mask >> word & 1) != 0) stores.push_back({index, word, buffer.line.word[word]});
    }
  }
  // std::shuffle is not used, because its result depends on the library implementation.
  for (size_t left = stores.size(); left > 1; --left)
    std::swap(stores[left - 1], stores[random_() % left]);
  for (const Store& store : stores) WriteOutWord(store.index, store.word, store.value);
  Compute(costs().mmio_write_line * buffers.size());
}

void HostEnd::WriteOutLine(uint32_t index, const bar::Line& line) {
  bytes_.down += bar::TlpWriteBytes(bar::kLineBytes, pair_.parameters().link.maximum_payload);
  pair_.SendPosted(pair_.down_, *this, bar::kLineBytes, [&pair = pair_, index, line] {
    pair.nic_memory_[index] = line;
    pair.nic().Arrived();
  });
}

void HostEnd::WriteOutWord(uint32_t index, uint32_t word, uint64_t value) {
  bytes_.down += bar::TlpWriteBytes(sizeof(value), pair_.parameters().link.maximum_payload);
  pair_.SendPosted(pair_.down_, *this, sizeof(value), [&pair = pair_, index, word, value] {
    pair.nic_memory_[index].word[word] = value;
    pair.nic().Arrived();
  });
}

void HostEnd::Flush() {
  WriteOut(std::exchange(buffers_, {}));
  cache_.clear();
}

// --- BAR reads.

std::shared_ptr<HostEnd::Read> HostEnd::StartRead(uint32_t index, uint32_t bytes) {
  WriteOut(std::exchange(buffers_, {}));
  const uint32_t mps = pair_.parameters().link.maximum_payload;
  const bar::TlpRead cost = bar::TlpReadBytes(bytes, mps, mps, mps);
  bytes_ += {cost.request, cost.completion};
  const bool flat = pair_.parameters().read_time == ReadTime::kFlat;
  const Picoseconds service = flat ? 0 : costs().device_read_service;
  const Picoseconds back =
      flat ? costs().mmio_read_uncached - costs().pcie_oneway : costs().pcie_oneway;

  auto read = std::make_shared<Read>();
  const Picoseconds began = now();
  EventQueue& queue = pair_.queue();
  queue.At(began, [=, this, &queue] {
    if (!pair_.link_up_) return Lose(read, began);
    const uint32_t epoch = pair_.epoch_;
    const Transmission request =
        pair_.down_.Send(began, TlpKind::kReadRequest, 0, costs().pcie_oneway);
    queue.At(request.arrival, [=, this, &queue] {
      if (!pair_.Travels(epoch)) return Lose(read, began);
      read->line = pair_.device_lines_[index];
      queue.After(service, [=, this, &queue] {
        if (!pair_.Travels(epoch)) return Lose(read, began);
        const Transmission answer = pair_.up_.Send(queue.now(), TlpKind::kCompletion, bytes, back);
        queue.At(answer.arrival, [=, this] {
          if (!pair_.Travels(epoch)) return Lose(read, began);
          read->done = true;
          Awaited();
        });
      });
    });
  });
  return read;
}

void HostEnd::Lose(const std::shared_ptr<Read>& read, Picoseconds began) {
  pair_.queue().At(began + costs().completion_timeout, [this, read] {
    read->lost = read->done = true;
    Awaited();
  });
}

bool HostEnd::Finish(const std::shared_ptr<Read>& read) {
  Await(read->done);
  if (read->lost) dead_ = !pair_.link_up_;
  return !read->lost;
}

uint64_t HostEnd::ReadUncached(uint32_t index, uint32_t word) {
  if (dead_) return ~uint64_t{0};
  const std::shared_ptr<Read> read = StartRead(index, sizeof(uint64_t));
  if (!Finish(read)) return ~uint64_t{0};
  // The answer flushed all earlier posts from the NIC to the host's memory.
  const bool pushed = pair_.parameters().nic_lines == NicLines::kPushed;
  return pushed ? pair_.host_memory_[index].word[word] : read->line.word[word];
}

void HostEnd::Prefetch(uint32_t index) {
  assert(pair_.parameters().nic_lines == NicLines::kWriteThrough);
  if (dead_ || cache_.contains(index)) return;
  cache_[index] = StartRead(index, bar::kLineBytes);
}

std::optional<bar::Line> HostEnd::Cached(uint32_t index) {
  if (dead_) return std::nullopt;
  std::shared_ptr<Read> read = cache_[index];
  if (read == nullptr) {
    read = cache_[index] = StartRead(index, bar::kLineBytes);
  } else {
    Compute(costs().mmio_read_cached);
  }
  if (Finish(read)) return read->line;
  cache_.erase(index);
  return std::nullopt;
}

bool HostEnd::PollUncached(uint32_t index, bar::Line& out) {
  for (uint32_t word = 0; word < out.word.size(); ++word) {
    out.word[word] = ReadUncached(index, word);
    if (out.word[0] == ~uint64_t{0}) return false;
  }
  return !dead_;
}

// --- NIC line reads.

uint64_t HostEnd::Peek(uint32_t index) {
  if (dead_) return ~uint64_t{0};
  switch (pair_.parameters().nic_lines) {
    case NicLines::kPushed:
      Compute(costs().host_cached_line);
      CatchUp();
      return pair_.host_memory_[index].word[0];
    case NicLines::kUncached:
      return ReadUncached(index, 0);
    case NicLines::kWriteThrough:
      break;
  }
  const std::optional<bar::Line> line = Cached(index);
  return line ? line->word[0] : ~uint64_t{0};
}

bool HostEnd::Poll(uint32_t index, bar::Line& out) {
  if (dead_) return false;
  switch (pair_.parameters().nic_lines) {
    case NicLines::kPushed:
      Compute(costs().host_cached_line);
      CatchUp();
      out = pair_.host_memory_[index];
      break;
    case NicLines::kUncached:
      if (!PollUncached(index, out)) return false;
      break;
    case NicLines::kWriteThrough: {
      const std::optional<bar::Line> line = Cached(index);
      if (!line) return false;
      out = *line;
      break;
    }
  }
  return !pair_.Tears() || bar::UnsealLine(out);
}

}  // namespace sluice::fabric

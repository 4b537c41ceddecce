// SPDX-License-Identifier: BSD-3-Clause
//
// Receive burst of the ethdev port: divides the bytes of a pipe into frames and copies each into an
// mbuf. A pipe does not contain frame lengths; they are read from the frames' headers or, with
// notify=packet, from the notifications (docs/enso-hardware.md, "Receiving"). Each burst function
// has two variants: plain, and with the fields that software computes (enso_describe.h).
#include <netinet/in.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <algorithm>
#include <cstring>

#include "net_enso/enso_port.h"
#include "packet/frame_length.h"

namespace sluice::net_enso {
namespace {

using packet::kFlitBytes;

/// Number of bytes after which a walk gives memory back to the NIC even before the end of its span.
constexpr uint32_t kReleaseBytes = 32 * 1024;

/// The next step of a walk.
struct Step {
  uint32_t length;  ///< Length of the frame; 0 if these flits belong to no frame.
  uint32_t span;    ///< Bytes to advance, > 0, ≤ end − position.
};

/// Returns the frame at `position`, with the length that its headers state. If the frame does not
/// end before `end`, where the NIC's notification ends, the header is invalid and the walk skips
/// one flit.
inline Step StepByHeaders(const uint8_t* position, const uint8_t* end) {
  const uint32_t length = packet::FrameLength(position);
  const uint32_t span = packet::FlitSpan(length);
  const auto left = static_cast<uint64_t>(end - position);
  if (length == 0 || length > kMaxFrameBytes || span > left) [[unlikely]]
    return {0, kFlitBytes};
  return {length, span};
}

/// Returns the frame at the walk's position. The NIC has reported where it ends; the headers
/// determine only the padding in the last flit.
inline Step StepByBoundary(RxQueue& queue) {
  Pipe* pipe = queue.pipe;
  const uint32_t left = static_cast<uint32_t>(queue.end - queue.position);
  const uint32_t first = static_cast<uint32_t>(queue.position - pipe->memory) / kFlitBytes;
  const uint32_t boundary = pipe->boundaries[pipe->boundaries_read & pipe->mask];
  const uint32_t span = std::min(((boundary - first) & pipe->mask) * kFlitBytes, left);
  if (span == 0) [[unlikely]]
    return {0, left};
  const uint32_t length = packet::FrameLength(queue.position);
  return {packet::FlitSpan(length) == span ? length : span, span};
}

inline rte_mbuf* AllocateMbuf(RxQueue& queue) {
  if (queue.stocked == 0) [[unlikely]] {
    if (rte_mempool_get_bulk(queue.pool, reinterpret_cast<void**>(queue.stock.data()),
                             RxQueue::kStock) == 0) {
      queue.stocked = RxQueue::kStock;
    } else if (rte_mempool_get(queue.pool, reinterpret_cast<void**>(queue.stock.data())) == 0) {
      queue.stocked = 1;
    } else {
      return nullptr;
    }
  }
  rte_mbuf* mbuf = queue.stock[--queue.stocked];
  if (queue.stocked != 0) rte_prefetch0(queue.stock[queue.stocked - 1]);
  return mbuf;
}

inline void InitMbuf(const RxQueue& queue, rte_mbuf* mbuf, uint32_t length) {
  std::memcpy(&mbuf->rearm_data, &queue.rearm, sizeof(queue.rearm));
  mbuf->ol_flags = queue.flags;
  mbuf->packet_type = RTE_PTYPE_UNKNOWN;
  mbuf->pkt_len = length;
  mbuf->data_len = static_cast<uint16_t>(length);
}

/// Copies a frame that does not fit into the first mbuf to as many mbufs as it needs. If the pool
/// does not have enough, frees `first` with all its segments and returns false.
bool Scatter(RxQueue& queue, rte_mbuf* first, uint32_t length) {
  rte_mbuf* last = first;
  uint32_t done = 0;
  while (true) {
    const uint32_t part = std::min(length - done, queue.room);
    rte_memcpy(rte_pktmbuf_mtod(last, void*), queue.position + done, part);
    last->data_len = static_cast<uint16_t>(part);
    done += part;
    if (done == length) return true;
    rte_mbuf* next = AllocateMbuf(queue);
    if (next == nullptr) {
      rte_pktmbuf_free(first);
      return false;
    }
    InitMbuf(queue, next, 0);
    last->next = next;
    last = next;
    ++first->nb_segs;
  }
}

/// Returns an mbuf that contains the frame at the walk's position, or null if the pool does not
/// have enough mbufs.
inline rte_mbuf* CopyFrame(RxQueue& queue, const Step& step) {
  rte_mbuf* mbuf = AllocateMbuf(queue);
  if (mbuf == nullptr) [[unlikely]]
    return nullptr;
  InitMbuf(queue, mbuf, step.length);
  if (step.span <= queue.room) [[likely]] {
    auto* to = rte_pktmbuf_mtod(mbuf, uint8_t*);
    for (uint32_t i = 0; i < step.span; i += kFlitBytes) rte_mov64(to + i, queue.position + i);
  } else if (step.length <= queue.room) {
    rte_memcpy(rte_pktmbuf_mtod(mbuf, void*), queue.position, step.length);
  } else if (!Scatter(queue, mbuf, step.length)) {
    return nullptr;
  }
  return mbuf;
}

/// Returns true if the NIC looks up the frame under the rule's key (docs/enso-hardware.md,
/// "Steering").
bool Matches(const CountedRule& rule, const uint8_t* frame) {
  return frame[23] == (rule.tcp ? IPPROTO_TCP : IPPROTO_UDP) && KeyOfFrame(frame) == rule.key;
}

void CountRules(RxQueue& queue, uint32_t length) {
  for (CountedRule& rule : queue.rules) {
    if (!rule.active.load(std::memory_order_acquire) || !Matches(rule, queue.position)) continue;
    rule.packets.fetch_add(1, std::memory_order_relaxed);
    rule.bytes.fetch_add(length, std::memory_order_relaxed);
  }
}

/// Gives the bytes before the walk's position back to the NIC.
void ReleasePassed(RxQueue& queue) {
  queue.nb->Release(queue.pipe, static_cast<uint32_t>(queue.position - queue.released));
  queue.released = queue.position;
}

/// Moves the walk to the next span of the last poll. Returns false if there are no more spans.
bool NextSpan(RxQueue& queue) {
  if (queue.released != queue.position) ReleasePassed(queue);
  if (queue.next_span == queue.span_count) return false;
  const rte_pmd_enso_span& span = queue.spans[queue.next_span++];
  queue.pipe = span.pipe;
  queue.position = queue.released = span.data;
  queue.end = span.data + span.bytes;
  return true;
}

bool PollSpans(RxQueue& queue) {
  queue.next_span = 0;
  queue.span_count = queue.nb->Poll(queue.spans.data(), queue.max_spans, 0);
  return queue.span_count != 0;
}

/// Returns true if there is a flit at the walk's position. Polls at most once per burst, so that a
/// burst ends even if unusable frames arrive continuously.
inline bool HasFlit(RxQueue& queue, bool* polled) {
  if (queue.position != queue.end) [[likely]]
    return true;
  if (NextSpan(queue)) return true;
  if (*polled || !PollSpans(queue)) return false;
  *polled = true;
  return NextSpan(queue);
}

template <bool kExact>
inline Step NextStep(RxQueue& queue) {
  if constexpr (kExact) return StepByBoundary(queue);
  return StepByHeaders(queue.position, queue.end);
}

template <bool kExact>
inline void Advance(RxQueue& queue, const Step& step) {
  if constexpr (kExact) ++queue.pipe->boundaries_read;
  queue.position += step.span;
}

template <bool kExact, bool kDescribe>
inline uint16_t Receive(RxQueue& queue, rte_mbuf** packets, uint16_t count) {
  uint16_t received = 0;
  uint64_t bytes = 0;
  bool polled = false;
  while (received < count && HasFlit(queue, &polled)) {
    const Step step = NextStep<kExact>(queue);
    if (step.length == 0) [[unlikely]] {
      queue.desync_flits += step.span / kFlitBytes;
    } else if (step.length > queue.max_bytes) [[unlikely]] {
      ++queue.too_long;
    } else {
      rte_mbuf* mbuf = CopyFrame(queue, step);
      if (mbuf == nullptr) [[unlikely]] {
        // The frame remains in the pipe. If the pipe fills up, the NIC drops and counts frames.
        ++queue.no_mbuf;
        break;
      }
      if (queue.counted_rules.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        CountRules(queue, step.length);
      }
      if constexpr (kDescribe) Describe(queue.wanted, queue.position, step.length, mbuf);
      packets[received++] = mbuf;
      bytes += step.length;
    }
    Advance<kExact>(queue, step);
  }
  if (queue.position - queue.released >= kReleaseBytes) {
    ReleasePassed(queue);
    queue.nb->Flush();
  }
  queue.counters.packets += received;
  queue.counters.bytes += bytes;
  return received;
}

/// Discards the frames that arrived before the call. Polls at most as often as is needed to return
/// each pipe of the queue once, so that the call ends even if frames keep arriving.
template <bool kExact>
void Discard(RxQueue& queue) {
  size_t polls = (queue.nb->pipes().size() + RxQueue::kSpans - 1) / RxQueue::kSpans;
  for (bool polled = polls == 0; HasFlit(queue, &polled); polled = polls == 0) {
    if (polled && polls != 0) --polls;
    const Step step = NextStep<kExact>(queue);
    if (step.length == 0) {
      queue.desync_flits += step.span / kFlitBytes;
    } else {
      ++queue.stop_drops;
    }
    Advance<kExact>(queue, step);
  }
}

}  // namespace

uint16_t RxBurst(void* queue, rte_mbuf** packets, uint16_t count) {
  return Receive<false, false>(*static_cast<RxQueue*>(queue), packets, count);
}
uint16_t RxBurstExact(void* queue, rte_mbuf** packets, uint16_t count) {
  return Receive<true, false>(*static_cast<RxQueue*>(queue), packets, count);
}
uint16_t RxBurstDescribed(void* queue, rte_mbuf** packets, uint16_t count) {
  return Receive<false, true>(*static_cast<RxQueue*>(queue), packets, count);
}
uint16_t RxBurstExactDescribed(void* queue, rte_mbuf** packets, uint16_t count) {
  return Receive<true, true>(*static_cast<RxQueue*>(queue), packets, count);
}

uint32_t CountPending(RxQueue& queue, uint32_t limit) {
  queue.nb->ReadNotifications();
  uint32_t frames = 0;
  if (queue.nb->device()->geometry().notify_per_packet) {
    for (const Pipe* pipe : queue.nb->pipes()) {
      frames += pipe->boundaries_written - pipe->boundaries_read;
    }
    return std::min(frames, limit);
  }
  const auto walk = [&](const uint8_t* position, const uint8_t* end) {
    while (position != end && frames < limit) {
      const Step step = StepByHeaders(position, end);
      frames += step.length != 0;
      position += step.span;
    }
  };
  walk(queue.position, queue.end);
  for (uint16_t i = queue.next_span; i < queue.span_count; ++i) {
    walk(queue.spans[i].data, queue.spans[i].data + queue.spans[i].bytes);
  }
  for (const Pipe* pipe : queue.nb->pipes()) {
    const uint8_t* const begin = pipe->At(pipe->returned);
    walk(begin, begin + size_t{pipe->tail - pipe->returned} * kFlitBytes);
  }
  return frames;
}

void DiscardPending(RxQueue& queue) {
  queue.max_spans = RxQueue::kSpans;
  for (const Pipe* pipe : queue.nb->pipes()) queue.nb->CatchUp(pipe);
  queue.nb->device()->geometry().notify_per_packet ? Discard<true>(queue) : Discard<false>(queue);
  if (queue.stocked != 0) {
    rte_mempool_put_bulk(queue.pool, reinterpret_cast<void**>(queue.stock.data()), queue.stocked);
    queue.stocked = 0;
  }
}

}  // namespace sluice::net_enso

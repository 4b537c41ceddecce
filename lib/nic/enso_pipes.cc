// SPDX-License-Identifier: BSD-3-Clause
#include "nic/enso_pipes.h"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_pause.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nic/streaming.h"

namespace sluice::nic {

namespace {

constexpr uint64_t kDrainMs = 200;

}  // namespace

std::optional<EnsoPipes> EnsoPipes::Open(uint16_t port, uint32_t pipes,
                                         std::optional<MbufTransmitter> exception,
                                         std::string* error) {
  if (pipes < 1 || pipes > kMaxPipesPerWorker) {
    *error = "a worker can have 1 to " + std::to_string(kMaxPipesPerWorker) + " pipes";
    return std::nullopt;
  }
  EnsoPipes set;
  rte_pmd_enso_nb* nb = nullptr;
  int rc = rte_pmd_enso_nb_open(port, &nb);
  if (rc != 0) {
    *error = std::string("cannot open a notification buffer: ") + rte_strerror(-rc);
    return std::nullopt;
  }
  set.nb_.reset(nb);
  rte_pmd_enso_pipe* pipe = nullptr;
  rc = rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_TX, 0, &pipe);
  if (rc == 0) set.composer_.reset(pipe);
  for (uintptr_t i = 0; rc == 0 && i < pipes; ++i) {
    rc = rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_RXTX, RTE_PMD_ENSO_FALLBACK, &pipe);
    if (rc != 0) break;
    rte_pmd_enso_pipe_set_context(pipe, reinterpret_cast<void*>(i));
    set.pipes_.emplace_back(pipe);
  }
  if (rc != 0) {
    *error = "cannot open pipe " + std::to_string(set.pipes_.size()) + " of " +
             std::to_string(pipes) + ": " + rte_strerror(-rc);
    return std::nullopt;
  }
  set.exception_ = std::move(exception);
  return set;
}

uint32_t EnsoPipes::Receive(std::span<Span> spans, QueueCounters& /*counters*/) {
  std::array<rte_pmd_enso_span, kMaxSpansOfPoll> arrived;
  const uint32_t room = static_cast<uint32_t>(std::min(spans.size(), arrived.size()));
  const uint32_t count =
      rte_pmd_enso_poll(nb_.get(), arrived.data(), static_cast<uint16_t>(room), 0);
  for (uint32_t i = 0; i < count; ++i) {
    const auto pipe = reinterpret_cast<uintptr_t>(rte_pmd_enso_pipe_context(arrived[i].pipe));
    spans[i] = {static_cast<uint32_t>(pipe), arrived[i].data, arrived[i].bytes};
  }
  return count;
}

bool EnsoPipes::TrySend(rte_pmd_enso_pipe* pipe, const uint8_t* data, uint32_t bytes,
                        uint32_t release_bytes) {
  int rc;
  while ((rc = rte_pmd_enso_send(pipe, data, bytes, release_bytes)) == -EAGAIN) {
    rte_pmd_enso_poll(nb_.get(), nullptr, 0, 0);  // Reaps completions, which frees slots.
    if (!patience_.Wait()) return false;
  }
  if (rc == 0) patience_.Renew();
  return rc == 0;
}

FrameTotals EnsoPipes::Send(uint32_t pipe, const uint8_t* data, uint32_t bytes,
                            uint32_t release_bytes) {
  if (composed_bytes_ > 0) SendComposed();
  if (tap_.see != nullptr) [[unlikely]] {
    tap_.see(tap_.context, TapDirection::kSent, data, bytes);
  }
  if (!TrySend(pipes_[pipe].get(), data, bytes, release_bytes)) [[unlikely]] {
    unsent_ += CountFrames(data, bytes);
    Release(pipe, release_bytes);
  }
  return std::exchange(unsent_, {});
}

void EnsoPipes::Release(uint32_t pipe, uint32_t bytes) {
  rte_pmd_enso_release(pipes_[pipe].get(), bytes);
}

SendResult EnsoPipes::SendCopy(const uint8_t* frame, uint32_t length) {
  if (length > kMaxFrameBytes || !packet::TotalLengthCutsWell(frame, length)) [[unlikely]] {
    return SendException(frame, length);
  }
  const uint32_t step = packet::FlitSpan(length);
  if (frame != spare_) {
    if (composed_bytes_ + step > room_bytes_ && !MakeRoom(step)) return SendResult::kFull;
    // Source and destination may overlap: a frame built at spare_ is in this memory, and frames
    // before it may have been dropped after it was built.
    std::memmove(room_ + composed_bytes_, frame, length);
  }
  Compose(step);
  return SendResult::kSent;
}

SendResult EnsoPipes::SendException(const uint8_t* frame, uint32_t length) {
  if (!exception_) return SendResult::kUnframeable;
  if (tap_.see != nullptr) {
    tap_.see(tap_.context, TapDirection::kSent, frame, packet::FlitSpan(length));
  }
  if (exception_->full()) unsent_ += exception_->Flush();
  return exception_->Add(frame, length) ? SendResult::kSent : SendResult::kFull;
}

/// Provides `step` free bytes after the composed frames. Returns false if they do not become free
/// in time.
bool EnsoPipes::MakeRoom(uint32_t step) {
  if (composed_bytes_ + step > kComposedBytes) SendComposed();
  while (AskForRoom() < composed_bytes_ + step) {
    if (composed_bytes_ > 0) SendComposed();  // Room is freed only after its bytes are sent.
    rte_pmd_enso_flush(nb_.get());
    rte_pmd_enso_poll(nb_.get(), nullptr, 0, 0);
    if (!patience_.Wait()) return false;
  }
  patience_.Renew();
  return true;
}

/// Requests room for many copies in one call. Room that becomes free later is requested when this
/// room is used up.
uint32_t EnsoPipes::AskForRoom() {
  room_bytes_ = std::min(rte_pmd_enso_tx_room(composer_.get(), &room_), kComposedBytes);
  FindSpare();
  return room_bytes_;
}

void EnsoPipes::SendComposed() {
  const uint32_t bytes = std::exchange(composed_bytes_, 0);
  if (tap_.see != nullptr) [[unlikely]] {
    tap_.see(tap_.context, TapDirection::kSent, room_, bytes);
  }
  if (!TrySend(composer_.get(), room_, bytes, 0)) unsent_ += CountFrames(room_, bytes);
  rte_pmd_enso_flush(nb_.get());  // Notifies the NIC now instead of only after the last frame.
  AskForRoom();
}

/// Sends the frames in the first `bytes` of room_ and requests new room. Returns false if they
/// cannot be sent now, for example because no slot is free.
bool EnsoPipes::SendEmitted(uint32_t bytes) {
  if (tap_.see != nullptr) [[unlikely]] {
    tap_.see(tap_.context, TapDirection::kSent, room_, bytes);
  }
  const bool sent = rte_pmd_enso_send(composer_.get(), room_, bytes, 0) == 0;
  if (sent) rte_pmd_enso_flush(nb_.get());
  AskForRoom();
  return sent;
}

FrameTotals EnsoPipes::Flush() {
  if (composed_bytes_ > 0) SendComposed();
  if (exception_ && !exception_->empty()) unsent_ += exception_->Flush();
  rte_pmd_enso_flush(nb_.get());
  return std::exchange(unsent_, {});
}

void EnsoPipes::Drain() {
  const uint64_t deadline = rte_get_timer_cycles() + rte_get_timer_hz() * kDrainMs / 1000;
  rte_pmd_enso_flush(nb_.get());
  while (rte_pmd_enso_tx_pending(nb_.get()) > 0 && rte_get_timer_cycles() < deadline) {
    rte_pmd_enso_poll(nb_.get(), nullptr, 0, 0);
    rte_pause();
  }
  if (exception_) exception_->Drain();
}

}  // namespace sluice::nic

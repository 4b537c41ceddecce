// SPDX-License-Identifier: BSD-3-Clause
#include "c_api/worker.h"

#include <chrono>
#include <new>
#include <thread>

using sluice::c_api::FrameBurst;
using sluice::c_api::WorkerTotals;

void sluice_worker::Process(std::span<sluice_frame> frames, uint64_t now) noexcept {
  const uint64_t call = calls_.load(std::memory_order_relaxed) + 1;
  calls_.store(call, std::memory_order_relaxed);
  // Either this call loads the new object, or the thread that replaced it sees this call.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  arena_.Clear();
  sent_.clear();
  lines_.clear();
  FrameBurst burst(frames, arena_, no_memory_);
  WorkerTotals::Add(totals_.totals[WorkerTotals::kBytes], burst.totals().bytes);
  Work(burst, now);
  Count(frames);
  calls_.store(call + 1, std::memory_order_release);
}

void sluice_worker::Count(std::span<const sluice_frame> frames) {
  std::array<uint64_t, SLUICE_PASS + 1> endings{};
  uint64_t bytes = 0;
  for (const sluice_frame& frame : frames) {
    ++endings[frame.verdict];
    if (frame.verdict == SLUICE_FORWARD) bytes += frame.length;
    if (frame.verdict == SLUICE_DROP) WorkerTotals::Add(totals_.drops[frame.reason], 1);
  }
  for (const sluice_frame& frame : sent_) bytes += frame.length;
  auto& totals = totals_.totals;
  WorkerTotals::Add(totals[WorkerTotals::kFrames], frames.size());
  WorkerTotals::Add(totals[WorkerTotals::kForwarded], endings[SLUICE_FORWARD]);
  WorkerTotals::Add(totals[WorkerTotals::kForwardedBytes], bytes);
  WorkerTotals::Add(totals[WorkerTotals::kConsumed], endings[SLUICE_CONSUME]);
  WorkerTotals::Add(totals[WorkerTotals::kPassed], endings[SLUICE_PASS]);
  WorkerTotals::Add(totals[WorkerTotals::kSent], sent_.size());
}

void sluice_worker::AwaitEndOfCall() const {
  constexpr std::chrono::microseconds kPause{50};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const uint64_t call = calls_.load(std::memory_order_acquire);
  while (call % 2 == 1 && calls_.load(std::memory_order_acquire) == call) {
    std::this_thread::sleep_for(kPause);
  }
}

bool sluice_worker::Send(const uint8_t* frame, uint32_t length) {
  try {
    sluice_frame& sent = sent_.emplace_back();
    sent.data = arena_.Copy(frame, length);
    sent.length = length;
    sent.moved = 1;
    if (sent.data != nullptr) return true;
    sent_.pop_back();
  } catch (const std::bad_alloc&) {
  }
  WorkerTotals::Add(totals_.totals[WorkerTotals::kUnsent], 1);
  return false;
}

void sluice_worker::AddLine(sluice_line line, const std::string& source) {
  const auto* const text = arena_.Copy(line.text, line.bytes);
  const auto* const name = arena_.Copy(source.c_str(), source.size() + 1);
  if (text == nullptr || name == nullptr) return;
  line.text = reinterpret_cast<const char*>(text);
  line.source = reinterpret_cast<const char*>(name);
  try {
    lines_.push_back(line);
  } catch (const std::bad_alloc&) {
  }
}

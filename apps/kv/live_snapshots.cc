// SPDX-License-Identifier: BSD-3-Clause
#include "live_snapshots.h"

#include <chrono>
#include <cstdio>
#include <utility>

namespace sluice::kv {

namespace {

using engine::kv::ChainRequest;
using engine::kv::Copied;

// Interval between checks for a worker's answer; workers call AtRest some ten thousand times per
// second.
constexpr std::chrono::microseconds kLook{20};

}  // namespace

LiveSnapshots::LiveSnapshots(const engine::kv::Store& store, std::string path,
                             std::function<uint32_t()> now_s)
    : store_(store),
      path_(std::move(path)),
      now_s_(std::move(now_s)),
      thread_(&LiveSnapshots::Main, this) {}

std::string LiveSnapshots::Begin() {
  const std::lock_guard lock(mutex_);
  if (path_.empty()) return "no snapshot file: start with --snapshot=FILE";
  if (wanted_ || under_way_) return "another snapshot is in progress: try again later";
  wanted_ = true;
  asked_.notify_one();
  return "";
}

void LiveSnapshots::Stop() {
  stop_ = true;
  {
    const std::lock_guard lock(mutex_);
    asked_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

uint64_t LiveSnapshots::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

uint64_t LiveSnapshots::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void LiveSnapshots::Extend(nlohmann::ordered_json& report) const {
  const std::lock_guard lock(mutex_);
  report["snapshots"] = {{"under_way", wanted_ || under_way_ ? 1 : 0},
                         {"written", written_},
                         {"failed", failed_},
                         {"items", last_.items},
                         {"chains_by_owner", last_.by_owner}};
}

void LiveSnapshots::Main() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stop_ || wanted_; });
    if (stop_) return;
    wanted_ = false;
    under_way_ = true;
    lock.unlock();
    WriteOne();
    lock.lock();
  }
}

void LiveSnapshots::WriteOne() {
  const auto begin = std::chrono::steady_clock::now();
  engine::kv::LiveFigures figures;
  std::string error;
  const bool written = engine::kv::WriteLiveSnapshot(
      path_,
      {.partitions = store_.partitions,
       .now_s = now_s_,
       .by_owner = [this](size_t partition, uint32_t chain, std::span<uint8_t> to,
                          size_t* bytes) { return ByOwner(partition, chain, to, bytes); },
       .stopped = [this] { return stop_.load(std::memory_order_relaxed); }},
      &figures, &error);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  {
    const std::lock_guard lock(mutex_);
    written_ += written;
    failed_ += !written;
    if (written) last_ = figures;
    // under_way_ is cleared before the line below is printed, because a reader of the line may
    // request the next snapshot.
    under_way_ = false;
  }
  if (written) {
    std::fprintf(stderr, "snapshot: %llu items in %.3f s\n",
                 static_cast<unsigned long long>(figures.items), seconds);
  } else if (!error.empty()) {
    std::fprintf(stderr, "snapshot: %s\n", error.c_str());
  }
}

std::optional<Copied> LiveSnapshots::ByOwner(size_t partition, uint32_t chain,
                                             std::span<uint8_t> to, size_t* bytes) {
  ChainRequest& request = *store_.chain_requests[partition % store_.workers];
  request.Ask(store_.partitions[partition], chain, to);
  for (;;) {
    if (const auto copied = request.Answer(bytes)) return copied;
    if (stop_.load(std::memory_order_relaxed) && request.Withdraw()) return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace sluice::kv

// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/grid_model.h"

#include <rte_log.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bar/posted_queue.h"
#include "base/counter_rows.h"
#include "emulator/grid/card_wire.h"
#include "emulator/log.h"
#include "emulator/model.h"
#include "emulator/wire_counters.h"

namespace sluice::emulator {
namespace {

using device::grid::Card;
using device::grid::Counters;
using device::grid::Crossing;
using device::grid::Phase;
using device::grid::WireEvent;

/// Returns the quantile `share` of the latency in ns, rounded down to a bucket of the histogram, or
/// 0 if no frame was measured. `share` must be less than 1.
uint64_t Quantile(const device::grid::Counters& counters, double share) {
  uint64_t all = 0;
  for (const uint64_t count : counters.latency) all += count;
  const auto wanted = static_cast<uint64_t>(static_cast<double>(all) * share);
  uint64_t seen = 0;
  for (uint32_t bucket = 0; bucket < device::grid::kLatencyBuckets; ++bucket) {
    seen += counters.latency[bucket];
    if (seen > wanted) return device::grid::LatencyOf(bucket);
  }
  return 0;
}

constexpr std::chrono::milliseconds kPatience{1000};
/// Maximum time that the blocks may take to stop.
constexpr std::chrono::seconds kStopLimit{30};
constexpr std::chrono::milliseconds kHeartbeat{100};

constexpr auto kCrossingNames = base::Names<Crossing, device::grid::kCrossings>(
    {{Crossing::kPayloadToHost, "payload_to_host"},
     {Crossing::kPayloadFromHost, "payload_from_host"},
     {Crossing::kNotifications, "notifications"},
     {Crossing::kDescriptors, "descriptors"},
     {Crossing::kRegisters, "registers"}});

constexpr auto kPhaseNames =
    base::Names<Phase, device::grid::kPhases>({{Phase::kReceiveSteer, "receive_steer"},
                                               {Phase::kReceiveReserve, "receive_reserve"},
                                               {Phase::kReceiveCopy, "receive_copy"},
                                               {Phase::kReceivePublish, "receive_publish"},
                                               {Phase::kSendSlots, "send_slots"},
                                               {Phase::kSendBytes, "send_bytes"},
                                               {Phase::kSendCut, "send_cut"},
                                               {Phase::kSendCheck, "send_check"},
                                               {Phase::kSendOrder, "send_order"},
                                               {Phase::kSendComplete, "send_complete"},
                                               {Phase::kElapsed, "elapsed"}});

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

uint64_t Of(const Counters& counters, WireEvent event) {
  return counters.wire[static_cast<uint32_t>(event)];
}

}  // namespace

/// Stops the blocks while any instance exists. Does not keep the model locked, because the owner
/// may lock the DmaSpace, and the DmaSpace calls RangesChanged with its lock held.
class GridModel::Pause {
 public:
  explicit Pause(GridModel& model) : model_(model) {
    const std::scoped_lock lock(model_.mutex_);
    if (model_.pauses_++ != 0) return;
    model_.resumes_ = model_.running_;
    if (!model_.running_) return;
    model_.StopBlocks();
    model_.Fetch();
  }
  ~Pause() {
    const std::scoped_lock lock(model_.mutex_);
    if (--model_.pauses_ != 0 || !model_.resumes_ || model_.queue_ == nullptr) return;
    std::string error;
    if (model_.Store() && model_.StartBlocks(&error)) return;
    Log(RTE_LOG_ERR,
        model_.name_ + ": " + (error.empty() ? "the card's memory cannot be written" : error));
    model_.queue_->MarkLinkDown();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  GridModel& model_;
};

/// Like Pause, but also keeps the model locked, so that the card's image can be changed.
class GridModel::LockedPause {
 public:
  explicit LockedPause(GridModel& model) : model_(model), lock_(model.mutex_), pause_(model) {}

  /// Makes the end of the last pause start the blocks, even if they were not running before.
  void Resume() { model_.resumes_ = true; }
  /// Makes the end of the last pause leave the blocks stopped.
  void Stay() { model_.resumes_ = false; }

 private:
  GridModel& model_;
  const std::scoped_lock<std::recursive_mutex> lock_;
  const Pause pause_;
};

GridModel::GridModel(std::string_view name, const GridProgram& program, const MacAddress& mac,
                     const OnOptions& on)
    : name_(name), program_(program), mac_(mac), on_(on) {
  if (!program.exchanges) on_.roles.exchangers = 0;
}

std::unique_ptr<GridModel> GridModel::Create(std::string_view name, const ModelInfo& model,
                                             const Arguments& arguments, const MacAddress& mac,
                                             std::string* error) {
  if (model.grid == nullptr) {
    *error = "on: the model of " + std::string(model.title) + " runs only on the CPU: omit on";
    return nullptr;
  }
  std::unique_ptr<GridModel> made(new GridModel(name, *model.grid, mac, arguments.on));
  if (made->Start(arguments, error)) return made;
  const int reason = errno;
  made.reset();
  errno = reason;
  return nullptr;
}

GridModel::~GridModel() {
  {
    const std::scoped_lock lock(stop_mutex_);
    stopping_ = true;
  }
  stop_changed_.notify_all();
  if (watch_.joinable()) watch_.join();
  if (queue_ != nullptr) Disconnect(false);
}

bool GridModel::Start(const Arguments& arguments, std::string* error) {
  executor_ = on_.kind == OnOptions::Kind::kGpu
                  ? MakeGpuExecutor(on_.index, program_, on_.roles, error)
                  : MakeThreadExecutor(on_.threads, program_);
  if (executor_ == nullptr) return false;
  const size_t lines_bytes = (sizeof(Lines) + PageBytes() - 1) / PageBytes() * PageBytes();
  lines_memory_ = bar::RingMemory::Create(lines_bytes, false, bar::RingMemory::Pages::kPreferHuge);
  if (!lines_memory_) {
    *error = std::string("no memory for the card's control lines: ") + std::strerror(errno);
    return false;
  }
  pages_ = std::make_unique<HostPages>(name_, *executor_);
  if (!pages_->Keep({lines_memory_.data(), lines_bytes}, error)) return false;
  lines_ = new (lines_memory_.data()) Lines;

  card_ = static_cast<Card*>(executor_->Allocate(program_.card_bytes, error));
  if (card_ == nullptr) return false;
  if (program_.staging_bytes != 0) {
    staging_ = static_cast<uint8_t*>(executor_->Allocate(program_.staging_bytes, error));
    if (staging_ == nullptr) return false;
  }
  auto* const image =
      static_cast<std::byte*>(std::aligned_alloc(64, (program_.card_bytes + 63) / 64 * 64));
  if (image == nullptr) throw std::bad_alloc();
  image_memory_ = {image, [](std::byte* memory) { std::free(memory); }};
  image_ = program_.construct(image);
  image_->control = &lines_->control;
  image_->report = &lines_->report;
  std::memcpy(&image_->address, mac_.data(), mac_.size());
  device::grid::WireShape& shape = image_->wire.shape;
  source_ = arguments.wire != Arguments::WireKind::kLoopback;
  if (!UploadWire(name_, arguments, mac_, *executor_, &shape, &wire_, error)) return false;
  if (wire_ != nullptr) {
    shape.samples = lines_->samples;
    samples_ =
        std::make_unique<SampleReader>(lines_->samples, lines_->control, *wire_->recording());
  }
  watch_ = std::thread([this] { Watch(); });
  Log(RTE_LOG_NOTICE, name_ + ": the model runs on " + executor_->Describe() + ", " +
                          std::to_string(on_.roles.receivers) + " blocks receive, " +
                          std::to_string(on_.roles.senders) + " send, " +
                          std::to_string(on_.roles.exchangers) + " exchange");
  return true;
}

bool GridModel::Connect(const SettingValues& settings, const bar::DmaSpace& dma,
                        bar::PostedQueue* queue, std::string* error) {
  {
    const LockedPause pause(*this);
    if (const char* const wrong = program_.reset(*image_, settings, staging_)) {
      *error = wrong;
      return false;
    }
    const bar::PostedQueue::Layout layout = bar::PostedQueue::GetLayout();
    image_->queue = reinterpret_cast<uint8_t*>(queue);
    image_->layout = {layout.lanes, layout.lane_bytes,     bar::PostedQueue::kDepth, layout.entries,
                      layout.head,  layout.reply_sequence, layout.reply_value};
    image_->link = 0;
    // The blocks would end at their first access to an unregistered queue.
    queue_ = queue;
    const std::string why = ShareMemory({});
    if (!IsHeld({queue, sizeof(*queue)})) {
      *error = "the register queue cannot be registered with the card: " + why;
      queue_ = nullptr;
      image_->queue = nullptr;
      ShareMemory({});
      return false;
    }
    for (uint32_t lane = 0; lane < device::grid::kLanes; ++lane) {
      image_->heads[lane] = queue->Head(lane);
    }
    static_assert(device::grid::kLanes == bar::PostedQueue::kLanes);
    dma_ = &dma;
  }
  // The model must not be locked here, because the space calls RangesChanged with its own lock
  // held.
  dma.SetObserver(this);
  LockedPause(*this).Resume();
  return true;
}

void GridModel::ChangeMemory(const std::function<void()>& change) {
  const Pause pause(*this);
  change();
}

void GridModel::Disconnect(bool died) {
  EnableWire(false);
  {
    LockedPause pause(*this);
    pause.Stay();
    if (died && program_.host_died != nullptr) program_.host_died(*image_);
    counters_ = image_->counters;  // The final values, which include all frames that returned
                                   // before the blocks ended.
  }
  if (dma_ != nullptr) dma_->SetObserver(nullptr);  // The model must not be locked, as in Connect.
  const LockedPause pause(*this);
  dma_ = nullptr;
  queue_ = nullptr;
  ShareMemory({});  // Also unregisters the queue, because another host's queue may be at the same
                    // address.
  image_->queue = nullptr;
  if (died) abandoned_ += Outstanding();
  Log(RTE_LOG_NOTICE, name_ + ": " + Summary());
}

// Returns measurements that only the NIC can make. They are meant for the log.
std::string GridModel::Summary() const {
  const auto us = [&](double share) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f",
                  static_cast<double>(Quantile(counters_, share)) / 1e3);
    return std::string(text);
  };
  std::string text;
  if (Quantile(counters_, 0.5) != 0) {  // Frames from a recording have no departure time.
    text = "microseconds until frames came back: p50 " + us(0.5) + ", p99 " + us(0.99) +
           ", p99.9 " + us(0.999) + "; ";
  }
  text += "bytes that crossed PCIe:";
  for (uint32_t i = 0; i < device::grid::kCrossings; ++i) {
    text += std::string(i == 0 ? " " : ", ") + std::string(kCrossingNames[i]) + " " +
            std::to_string(counters_.crossings[i]);
  }
  text += "; cycles of blocks:";
  for (uint32_t i = 0; i < device::grid::kPhases; ++i) {
    text += std::string(i == 0 ? " " : ", ") + std::string(kPhaseNames[i]) + " " +
            std::to_string(counters_.phases[i]);
  }
  return text;
}

void GridModel::RangesChanged(const std::vector<bar::DmaMapping>& ranges) {
  const LockedPause pause(*this);
  ShareMemory(ranges);
  program_.find_rings(*image_);
}

bool GridModel::IsHeld(const HostPages::Range& range) const {
  const std::vector<HostPages::Range> held = pages_->Held(range);
  return held.size() == 1 && held[0].bytes == range.bytes;
}

std::string GridModel::ShareMemory(const std::vector<bar::DmaMapping>& ranges) {
  std::vector<HostPages::Range> all;
  if (queue_ != nullptr) all.push_back({queue_, sizeof(*queue_)});
  for (const bar::DmaMapping& range : ranges) all.push_back({range.host, range.bytes});
  const std::string why = pages_->Change(all);
  // An access to memory that could not be registered would end the kernel.
  std::vector<bar::DmaMapping> held;
  unregistered_bytes_ = 0;
  for (const bar::DmaMapping& range : ranges) {
    unregistered_bytes_ += range.bytes;
    for (const HostPages::Range& part : pages_->Held({range.host, range.bytes})) {
      const auto offset = static_cast<uint64_t>(static_cast<std::byte*>(part.begin) -
                                                static_cast<std::byte*>(range.host));
      held.push_back({range.bus + offset, part.begin, part.bytes});
      unregistered_bytes_ -= part.bytes;
    }
  }
  FillTable(held, &image_->dma);
  return why;
}

void GridModel::Fetch() { executor_->Read(image_, card_, program_.card_bytes); }

bool GridModel::Store() {
  image_->stopping = 0;
  return executor_->Write(card_, image_, program_.card_bytes);
}

bool GridModel::StartBlocks(std::string* error) {
  std::atomic_ref(lines_->control.stop).store(0, std::memory_order_release);
  running_ = executor_->Start(card_, on_.roles, error);
  dead_ = false;
  return running_;
}

void GridModel::StopBlocks() {
  std::atomic_ref(lines_->control.stop).store(1, std::memory_order_release);
  // A kernel that does not stop can be ended only by ending the process.
  const auto end = std::chrono::steady_clock::now() + kStopLimit;
  while (executor_->Running()) {
    if (std::chrono::steady_clock::now() > end) {
      Log(RTE_LOG_ERR, name_ + ": the card does not stop: this process ends");
      std::_Exit(EXIT_FAILURE);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  executor_->Join();
  running_ = false;
}

void GridModel::EnableWire(bool enabled) {
  std::atomic_ref(lines_->control.wire_on).store(enabled ? 1 : 0, std::memory_order_release);
  Request();
}

void GridModel::Request() {
  const std::scoped_lock lock(mutex_);
  const uint32_t request = lines_->control.request + 1;
  std::atomic_ref(lines_->control.request).store(request, std::memory_order_release);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (running_ && std::chrono::steady_clock::now() < end) {
    if (std::atomic_ref(lines_->report.served).load(std::memory_order_acquire) == request) {
      const auto* const from = reinterpret_cast<uint64_t*>(&lines_->report.counters);
      auto* const to = reinterpret_cast<uint64_t*>(&counters_);
      for (uint32_t i = 0; i < device::grid::kCounterWords; ++i) {
        to[i] = std::atomic_ref(const_cast<uint64_t&>(from[i])).load(std::memory_order_relaxed);
      }
      return;
    }
    if (!executor_->Running()) break;
    std::this_thread::yield();
  }
  if (!running_) counters_ = image_->counters;
}

// Increments the heartbeat and checks that the blocks are still running.
void GridModel::Watch() {
  std::unique_lock stop(stop_mutex_);
  while (!stop_changed_.wait_for(stop, kHeartbeat, [this] { return stopping_; })) {
    std::atomic_ref(lines_->control.heartbeat).fetch_add(1, std::memory_order_relaxed);
    if (samples_ != nullptr) samples_->CheckAll();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !running_ || dead_) continue;
    if (executor_->Running()) continue;
    dead_ = true;
    Log(RTE_LOG_ERR, name_ + ": the card has stopped: the link is down");
    queue_->MarkLinkDown();
  }
}

uint64_t GridModel::Outstanding() const {
  if (!source_) return 0;
  const uint64_t distinct =
      Less(Of(counters_, WireEvent::kReturned),
           Of(counters_, WireEvent::kDuplicated) + Of(counters_, WireEvent::kForeign));
  return Less(counters_.model[program_.received], distinct + abandoned_);
}

std::vector<Statistic> GridModel::Statistics() {
  const std::scoped_lock lock(mutex_);
  Request();
  WireTotals checks;
  std::vector<device::Counter> own;  // The recording's statistics.
  const auto wire = [&](WireEvent event) { return Of(counters_, event); };
  if (samples_ != nullptr) {
    samples_->CheckAll();
    samples_->Read([&](const Recording& recording) {
      checks = recording.totals();
      own = recording.Statistics(wire(WireEvent::kOffered), wire(WireEvent::kReturned));
      own.push_back({"hash", wire(WireEvent::kHash)});
    });
  }
  std::vector<Statistic> statistics;
  const auto emit = [&](std::string_view prefix, std::string_view name, uint64_t value) {
    statistics.push_back({std::string(prefix).append(name), value});
  };
  for (size_t i = 0; i < program_.events.size(); ++i) {
    emit("model_", program_.events[i], counters_.model[i]);
  }
  const uint64_t missing =
      Less(wire(WireEvent::kOffered), Less(wire(WireEvent::kRecognised), checks.corrupted));
  const bool on = std::atomic_ref(lines_->control.wire_on).load(std::memory_order_relaxed) != 0;
  emit("wire_", "offered", wire(WireEvent::kOffered));
  emit("wire_", "accepted", counters_.model[program_.received]);
  emit("wire_", "returned", wire(WireEvent::kReturned));
  emit("wire_", "returned_bytes", wire(WireEvent::kReturnedBytes));
  emit("wire_", "outstanding", Outstanding());
  emit("wire_", "abandoned", abandoned_);
  emit("wire_", "lost", !source_ ? 0 : on ? wire(WireEvent::kGaps) : missing);
  emit("wire_", "corrupted", wire(WireEvent::kCorrupted) + checks.corrupted);
  emit("wire_", "foreign", wire(WireEvent::kForeign));
  emit("wire_", "duplicated", wire(WireEvent::kDuplicated));
  emit("wire_", "reordered", wire(WireEvent::kReordered));
  emit("wire_", "late", wire(WireEvent::kLate));
  emit("wire_", "verified", wire(WireEvent::kVerified) + checks.verified);
  emit("wire_", "skipped", checks.skipped);
  emit("wire_", "source_late", wire(WireEvent::kSourceLate));
  if (!source_) {
    emit("wire_", LoopbackCounters::kRows[LoopbackCounters::kFull].name,
         wire(WireEvent::kLoopbackFull));
  }
  for (const device::Counter& counter : own) emit("wire_", counter.name, counter.value);
  for (uint32_t i = 0; i < device::grid::kCrossings; ++i) {
    emit("model_link_bytes_", kCrossingNames[i], counters_.crossings[i]);
  }
  for (uint32_t i = 0; i < device::grid::kPhases; ++i) {
    emit("model_cycles_", kPhaseNames[i], counters_.phases[i]);
  }
  emit("model_", "unregistered_bytes", unregistered_bytes_);
  emit("wire_latency_", "p50_ns", Quantile(counters_, 0.5));
  emit("wire_latency_", "p99_ns", Quantile(counters_, 0.99));
  emit("wire_latency_", "p999_ns", Quantile(counters_, 0.999));
  return statistics;
}

}  // namespace sluice::emulator

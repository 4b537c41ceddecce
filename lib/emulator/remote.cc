// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/remote.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bar/posted_queue.h"
#include "emulator/connection.h"
#include "emulator/dpdk_memory.h"
#include "emulator/guarded_range.h"
#include "emulator/holdings.h"
#include "emulator/log.h"
#include "emulator/message.h"
#include "emulator/model.h"
#include "emulator/queue_memory.h"
#include "emulator/running_model.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

/// Between two looks at the link, and between attempts to reach a device: longer and
/// longer, to a bound.
constexpr milliseconds kLook{50};
constexpr milliseconds kMaxPause{1000};

class Remote final : public Attachment, private DpdkMemory {
 public:
  Remote(std::string_view name, const ModelInfo& model, const SettingValues& settings,
         DeviceSocket socket)
      : DpdkMemory(name), name_(name), socket_(std::move(socket)), model_(model),
        settings_(settings) {}
  ~Remote() override;

  bool Start(std::string* error);

  bar::Bar& registers() override { return bar_; }
  bool Map(const bar::RingMemory& memory, std::string_view name) override;
  void Unmap(const bar::RingMemory& memory) override;
  bar::RingMemory Adopt(std::string_view name) override;
  uint32_t Generation() const override { return generation_.load(std::memory_order_acquire); }
  std::vector<Statistic> Statistics() override;
  bool WireUp() override;
  void MacAddress(uint8_t mac[6]) override;
  void EnableWire(bool enabled) override;

 private:
  void Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) override;
  void Unmapping(uint64_t begin, uint64_t end) override;

  /// Connects and hands everything over; the link is up then.
  bool Reach(std::string* error);
  /// A request on the connection, if there is one; a failure ends it. `mutex_` is held.
  bool Ask(const Request& request, Reply* reply, File* received = nullptr);
  /// If the connection has failed, the link is down until the watching thread has reached
  /// the device again.
  void DropIfBad();
  /// Takes what the device counts now into statistics_. `returned`: on a new connection.
  void Merge(const std::vector<Statistic>& fresh, bool returned);
  void Watch();
  /// Returns when the connection has ended: false if it may not come back.
  bool AwaitEnd();
  /// Guards memory that the device has a file of. False, with a reason in `error`, if too
  /// much is guarded already. `mutex_` is held.
  bool Guard(const void* begin, size_t bytes, std::string* error);

  const std::string name_;
  const DeviceSocket socket_;
  const ModelInfo& model_;
  const SettingValues settings_;
  LossAlarm alarm_;
  bar::RingMemory queue_memory_;
  bar::PostedQueue* queue_ = nullptr;
  bar::Bar bar_;

  /// Guards all that follows. Taken under EAL's memory lock, so that nothing under it may
  /// take that one.
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;  ///< Changed by the watching thread alone.
  Holdings holdings_;
  std::map<const void*, GuardedRange> guards_;  ///< Of the queue, rings, and DPDK's memory.
  std::string missing_;                ///< Why the device cannot reach all of DPDK's memory.
  std::vector<Statistic> statistics_;  ///< The newest, over all devices that were there.
  std::vector<uint64_t> counted_;      ///< Of them, what the present device counted.
  uint8_t mac_[6] = {};
  bool wire_enabled_ = false;
  bool stop_ = false;

  std::condition_variable stopping_;
  std::atomic<uint32_t> generation_{0};
  std::thread thread_;
};

bool Remote::Start(std::string* error) {
  queue_memory_ = CreateQueue(&queue_);
  if (queue_ == nullptr) {
    *error = std::string("no memory for the register queue: ") + std::strerror(errno);
    return false;
  }
  queue_->TakeLinkDown();
  bar_ = bar::Bar(queue_, model_.bar_bytes);
  if (!Guard(queue_memory_.data(), queue_memory_.mapped_bytes(), error)) return false;
  DpdkMemory::Watch();
  *error = missing_;
  if (!missing_.empty() || !Reach(error)) {
    *error = "device=" + socket_.path + ": " + *error;
    return false;
  }
  thread_ = std::thread([this] { Watch(); });
  return true;
}

Remote::~Remote() {
  Forget();
  if (thread_.joinable()) {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    stopping_.notify_all();
    thread_.join();
  }
  if (queue_ != nullptr) queue_->TakeLinkDown();
}

bool Remote::Guard(const void* begin, size_t bytes, std::string* error) {
  if (guards_.contains(begin)) return true;
  // The file may end, or a page of it; what is left may hold the application together.
  GuardedRange guard(const_cast<void*>(begin), bytes, GuardedRange::Loss::kPage, alarm_);
  if (!guard) {
    *error = "too much memory is shared with devices, or too many files are open";
    return false;
  }
  guards_.emplace(begin, std::move(guard));
  return true;
}

bool Remote::Reach(std::string* error) {
  File socket = Connect(socket_.path, socket_.trusted, error);
  if (!socket) return false;
  auto connection = std::make_unique<Connection>(Channel(std::move(socket)));
  Request hello;
  hello.kind = Kind::kHello;
  hello.bytes = queue_memory_.bytes();
  SetText(hello.model, model_.name);
  std::ranges::copy(settings_, hello.settings);
  SetText(hello.name, name_);
  Reply welcome;
  if (!connection->Ask(hello, queue_memory_.fd(), &welcome, nullptr, error)) return false;

  const std::scoped_lock lock(mutex_);
  std::vector<Statistic> fresh;
  if (!holdings_.HandOver(*connection, error) || !connection->AskStatistics(&fresh, error)) {
    return false;
  }
  Merge(fresh, true);
  std::copy_n(welcome.mac, sizeof(mac_), mac_);
  connection_ = std::move(connection);
  // Who sees the link up sees that the device has forgotten what it was told before.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  queue_->BringLinkUp();
  if (wire_enabled_) {
    Request enable;
    enable.kind = Kind::kEnableWire;
    enable.flags = kEnabled;
    Reply reply;
    Ask(enable, &reply);
  }
  return true;
}

void Remote::DropIfBad() {
  if (connection_ == nullptr || connection_->good()) return;
  queue_->TakeLinkDown();
  connection_->Shutdown();
}

bool Remote::Ask(const Request& request, Reply* reply, File* received) {
  if (connection_ == nullptr) return false;
  std::string unsaid;
  const bool answered = connection_->Ask(request, -1, reply, received, &unsaid);
  DropIfBad();
  return answered;
}

bool Remote::Map(const bar::RingMemory& memory, std::string_view name) {
  const std::scoped_lock lock(mutex_);
  std::string error;
  const bool was_guarded = guards_.contains(memory.data());
  const bool mapped = Guard(memory.data(), memory.mapped_bytes(), &error) &&
                      holdings_.Map(connection_.get(), memory, name, &error);
  if (!mapped && !was_guarded) guards_.erase(memory.data());
  DropIfBad();
  if (!mapped) Log(RTE_LOG_ERR, name_ + ": the device cannot reach a ring: " + error);
  return mapped;
}

void Remote::Unmap(const bar::RingMemory& memory) {
  const std::scoped_lock lock(mutex_);
  holdings_.Unmap(connection_.get(), memory);
  guards_.erase(memory.data());
  DropIfBad();
}

bar::RingMemory Remote::Adopt(std::string_view name) {
  if (name.empty() || name.size() >= kNameBytes) return {};
  Request request;
  request.kind = Kind::kAdopt;
  SetText(request.name, name);
  Reply reply;
  File file;
  const std::scoped_lock lock(mutex_);
  if (!Ask(request, &reply, &file) || !file) return {};
  return bar::RingMemory::FromFile(file.Release(), reply.bytes, (reply.flags & kMirrored) != 0);
}

void Remote::Merge(const std::vector<Statistic>& fresh, bool returned) {
  if (statistics_.empty()) {
    for (const Statistic& statistic : fresh) statistics_.push_back({statistic.name, 0});
    counted_.resize(fresh.size());
  }
  // A device that came back may count other things; this list's names are a promise.
  std::vector<uint64_t> counts = counted_;
  bool anew = false;
  for (size_t i = 0; i < statistics_.size(); ++i) {
    const std::string& name = statistics_[i].name;
    auto found = i < fresh.size() && fresh[i].name == name
                     ? fresh.begin() + static_cast<ptrdiff_t>(i)
                     : std::find_if(fresh.begin(), fresh.end(),
                                    [&](const Statistic& s) { return s.name == name; });
    if (found != fresh.end()) counts[i] = found->value;
    // A reset leaves the counters of a device as they are; a new process begins at 0.
    anew = anew || (returned && name.starts_with("model_") && counts[i] < counted_[i]);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    statistics_[i].value += counts[i] - (anew ? 0 : counted_[i]);
  }
  counted_ = std::move(counts);
}

std::vector<Statistic> Remote::Statistics() {
  const std::scoped_lock lock(mutex_);
  std::vector<Statistic> fresh;
  std::string error;
  if (connection_ != nullptr) {
    if (connection_->AskStatistics(&fresh, &error)) Merge(fresh, false);
    DropIfBad();
  }
  return statistics_;
}

bool Remote::WireUp() {
  Request request;
  request.kind = Kind::kWireUp;
  Reply reply;
  const std::scoped_lock lock(mutex_);
  return Ask(request, &reply) && (reply.flags & kEnabled) != 0;
}

void Remote::MacAddress(uint8_t mac[6]) {
  const std::scoped_lock lock(mutex_);
  std::copy_n(mac_, sizeof(mac_), mac);
}

void Remote::EnableWire(bool enabled) {
  Request request;
  request.kind = Kind::kEnableWire;
  if (enabled) request.flags = kEnabled;
  const std::scoped_lock lock(mutex_);
  wire_enabled_ = enabled;
  Reply reply;
  Ask(request, &reply);
}

void Remote::Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  if (Guard(list.base_va, list.len, &missing_) &&
      holdings_.AddMemory(connection_.get(), list, begin, end, &missing_)) {
    return;
  }
  DropIfBad();
  if (connection_ != nullptr) Log(RTE_LOG_ERR, name_ + ": new memory: " + missing_);
}

void Remote::Unmapping(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  holdings_.RemoveMemory(connection_.get(), begin, end);
  DropIfBad();
}

bool Remote::AwaitEnd() {
  for (;;) {
    std::array<pollfd, 2> ends = {{{connection_->fd(), POLLRDHUP, 0}, {alarm_.fd(), POLLIN, 0}}};
    const bool gone = poll(ends.data(), ends.size(), static_cast<int>(kLook.count())) > 0;
    const std::scoped_lock lock(mutex_);
    if (stop_) return false;
    const bool lost = alarm_.Rung();
    if (!gone && !lost && queue_->LinkUp()) continue;
    queue_->TakeLinkDown();
    connection_.reset();
    if (lost) {
      Log(RTE_LOG_ERR, name_ + ": the device at " + socket_.path +
                           " took away memory that it shares with this process; the link stays "
                           "down until the port is attached again");
    }
    return !lost;
  }
}

void Remote::Watch() {
  pthread_setname_np(pthread_self(), ("link-" + name_).substr(0, 15).c_str());
  const cpu_set_t cpus = ControlCpus();
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  for (;;) {
    if (!AwaitEnd()) return;
    std::string said;
    milliseconds pause = kLook;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (said.empty() && !stop_) {
          said = "the device at " + socket_.path + " is gone; the link is down until it is back";
          Log(RTE_LOG_WARNING, name_ + ": " + said);
        }
        if (stopping_.wait_for(lock, pause, [this] { return stop_; })) return;
      }
      std::string error;
      if (Reach(&error)) break;
      if (error != said) Log(RTE_LOG_INFO, name_ + ": " + error);
      said = error;
      pause = std::min(2 * pause, kMaxPause);
    }
    Log(RTE_LOG_NOTICE, name_ + ": the device is back, generation " +
                            std::to_string(Generation()));
  }
}

}  // namespace

std::unique_ptr<Attachment> AttachRemote(std::string_view name, const ModelInfo& model,
                                         const SettingValues& settings, const DeviceSocket& socket,
                                         std::string* error) {
  try {
    auto remote = std::make_unique<Remote>(name, model, settings, socket);
    if (remote->Start(error)) return remote;
  } catch (const std::system_error& failure) {
    *error = std::string("cannot start the thread that watches the device: ") + failure.what();
  }
  return nullptr;
}

}  // namespace sluice::emulator

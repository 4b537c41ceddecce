// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/remote.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bar/posted_queue.h"
#include "emulator/connection.h"
#include "emulator/dpdk_memory.h"
#include "emulator/log.h"
#include "emulator/memory_files.h"
#include "emulator/message.h"
#include "emulator/queue_memory.h"
#include "emulator/running_model.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

/// Between two looks at the link, and between attempts to reach a device: longer and
/// longer, to a bound.
constexpr milliseconds kLook{50};
constexpr milliseconds kMaxPause{1000};

bool IsName(std::string_view name) { return name.size() < kNameBytes; }

class Remote final : public Attachment, private DpdkMemory {
 public:
  Remote(std::string_view name, Model model, const Settings& settings, std::string path)
      : DpdkMemory(name), name_(name), path_(std::move(path)), model_(model), settings_(settings) {}
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
  struct Ring {
    uint64_t bytes;
    bool mirrored;
    int fd;
    std::string name;
  };

  void Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) override;
  void Unmapping(uint64_t begin, uint64_t end) override;

  /// Connects and hands everything over; the link is up then.
  bool Reach(std::string* error);
  bool HandOver(Connection& connection, std::string* error);
  bool SendPiece(Connection& connection, uint64_t bus, const MemoryFiles::Piece& piece,
                 std::string* error);
  bool SendRing(Connection& connection, uint64_t bus, const Ring& ring, std::string* error);
  /// A request on the connection, if there is one; a failure ends it. `mutex_` is held.
  bool Ask(const Request& request, int file, Reply* reply = nullptr, File* received = nullptr,
           std::string* error = nullptr);
  /// The link is down until the watching thread has reached the device again.
  void Drop(Connection& connection);
  void Merge(const std::vector<Statistic>& fresh);
  void Watch();
  /// Returns when the connection has ended, or at the end of this object.
  void AwaitEnd();

  const std::string name_;
  const std::string path_;
  const Model model_;
  const Settings settings_;
  bar::RingMemory queue_memory_;
  bar::PostedQueue* queue_ = nullptr;
  bar::Bar bar_;

  /// Guards all that follows. Taken under EAL's memory lock, so that nothing under it may
  /// take that one.
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;  ///< Changed by the watching thread alone.
  MemoryFiles files_;
  bool files_complete_ = true;
  std::map<uint64_t, Ring> rings_;  ///< By bus address.
  std::vector<std::string> dropped_names_;  ///< Unmapped while the device was away.
  std::vector<Statistic> statistics_;       ///< The newest.
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
  bar_ = bar::Bar(queue_, BarBytes(model_));
  DpdkMemory::Watch();
  if (!files_complete_) {
    *error = "device=" + path_ +
             ": some of DPDK's memory is in no file that the device could map; start with "
             "hugepages or with --no-huge, without external memory";
    return false;
  }
  if (!Reach(error)) {
    *error = "device=" + path_ + ": " + *error;
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

bool Remote::Reach(std::string* error) {
  File socket = Connect(path_, error);
  if (!socket) return false;
  auto connection = std::make_unique<Connection>(Channel(std::move(socket)));
  Request hello;
  hello.kind = Kind::kHello;
  hello.bytes = queue_memory_.bytes();
  hello.model = static_cast<uint32_t>(model_);
  hello.pipe_flits = settings_.pipe_flits;
  hello.nb_entries = settings_.nb_entries;
  if (settings_.notify_per_packet) hello.flags |= kNotifyPerPacket;
  SetText(hello.name, name_);
  Reply welcome;
  if (!connection->Ask(hello, queue_memory_.fd(), &welcome, nullptr, error)) return false;

  const std::scoped_lock lock(mutex_);
  if (!HandOver(*connection, error)) return false;
  std::copy_n(welcome.mac, sizeof(mac_), mac_);
  connection_ = std::move(connection);
  // Who sees the link up sees that the device has forgotten what it was told before.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  queue_->BringLinkUp();
  if (wire_enabled_) {
    Request enable;
    enable.kind = Kind::kEnableWire;
    enable.flags = kEnabled;
    Ask(enable, -1);
  }
  return true;
}

bool Remote::SendPiece(Connection& connection, uint64_t bus, const MemoryFiles::Piece& piece,
                       std::string* error) {
  Request request;
  request.kind = Kind::kMemory;
  request.bus = bus;
  request.bytes = piece.bytes;
  request.offset = piece.offset;
  request.area_bus = piece.area_bus;
  request.area_bytes = piece.area_bytes;
  Reply reply;
  return connection.Ask(request, piece.fd, &reply, nullptr, error);
}

bool Remote::SendRing(Connection& connection, uint64_t bus, const Ring& ring, std::string* error) {
  Request request;
  request.kind = Kind::kMap;
  request.bus = bus;
  request.bytes = ring.bytes;
  if (ring.mirrored) request.flags |= kMirrored;
  SetText(request.name, ring.name);
  Reply reply;
  return connection.Ask(request, ring.fd, &reply, nullptr, error);
}

bool Remote::HandOver(Connection& connection, std::string* error) {
  for (const auto& [bus, piece] : files_.pieces()) {
    if (!SendPiece(connection, bus, piece, error)) return false;
  }
  for (const std::string& name : dropped_names_) {
    Request request;
    request.kind = Kind::kUnmap;
    SetText(request.name, name);
    Reply reply;
    if (!connection.Ask(request, -1, &reply, nullptr, error) && !connection.good()) return false;
  }
  dropped_names_.clear();
  for (const auto& [bus, ring] : rings_) {
    if (!SendRing(connection, bus, ring, error)) return false;
  }
  std::vector<Statistic> fresh;
  if (!connection.AskStatistics(&fresh, error)) return false;
  Merge(fresh);
  return true;
}

void Remote::Drop(Connection& connection) {
  queue_->TakeLinkDown();
  connection.Shutdown();
}

bool Remote::Ask(const Request& request, int file, Reply* reply, File* received,
                 std::string* error) {
  if (connection_ == nullptr) return false;
  Reply ignored;
  std::string unsaid;
  const bool answered = connection_->Ask(request, file, reply != nullptr ? reply : &ignored,
                                         received, error != nullptr ? error : &unsaid);
  if (!connection_->good()) Drop(*connection_);
  return answered;
}

bool Remote::Map(const bar::RingMemory& memory, std::string_view name) {
  if (!memory || !IsName(name)) return false;
  const auto bus = reinterpret_cast<uint64_t>(memory.data());
  const std::scoped_lock lock(mutex_);
  if (connection_ == nullptr || rings_.contains(bus)) return false;
  const Ring ring{memory.bytes(), memory.mirrored(), memory.fd(), std::string(name)};
  std::string error;
  if (SendRing(*connection_, bus, ring, &error)) {
    rings_[bus] = ring;
    return true;
  }
  if (!connection_->good()) Drop(*connection_);
  Log(RTE_LOG_ERR, name_ + ": the device cannot reach a ring: " + error);
  return false;
}

void Remote::Unmap(const bar::RingMemory& memory) {
  const auto bus = reinterpret_cast<uint64_t>(memory.data());
  const std::scoped_lock lock(mutex_);
  const auto ring = rings_.find(bus);
  if (ring == rings_.end()) return;
  Request request;
  request.kind = Kind::kUnmap;
  request.bus = bus;
  SetText(request.name, ring->second.name);
  if (!Ask(request, -1) && !ring->second.name.empty()) {
    dropped_names_.push_back(ring->second.name);
  }
  rings_.erase(ring);
}

bar::RingMemory Remote::Adopt(std::string_view name) {
  if (!IsName(name) || name.empty()) return {};
  Request request;
  request.kind = Kind::kAdopt;
  SetText(request.name, name);
  Reply reply;
  File file;
  const std::scoped_lock lock(mutex_);
  if (!Ask(request, -1, &reply, &file) || !file) return {};
  return bar::RingMemory::FromFile(file.Release(), reply.bytes, (reply.flags & kMirrored) != 0);
}

void Remote::Merge(const std::vector<Statistic>& fresh) {
  if (statistics_.empty()) statistics_ = fresh;
  // A device that came back may count other things; this list's names are a promise.
  for (size_t i = 0; i < statistics_.size(); ++i) {
    Statistic& known = statistics_[i];
    auto found = i < fresh.size() && fresh[i].name == known.name
                     ? fresh.begin() + static_cast<ptrdiff_t>(i)
                     : std::find_if(fresh.begin(), fresh.end(),
                                    [&](const Statistic& s) { return s.name == known.name; });
    if (found != fresh.end()) known.value = found->value;
  }
}

std::vector<Statistic> Remote::Statistics() {
  const std::scoped_lock lock(mutex_);
  std::vector<Statistic> fresh;
  std::string error;
  if (connection_ != nullptr) {
    if (connection_->AskStatistics(&fresh, &error)) Merge(fresh);
    if (!connection_->good()) Drop(*connection_);
  }
  return statistics_;
}

bool Remote::WireUp() {
  Request request;
  request.kind = Kind::kWireUp;
  Reply reply;
  const std::scoped_lock lock(mutex_);
  return Ask(request, -1, &reply) && (reply.flags & kEnabled) != 0;
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
  Ask(request, -1);
}

void Remote::Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  std::string error;
  const auto send = [&](uint64_t bus, const MemoryFiles::Piece& piece) {
    if (connection_ != nullptr && !SendPiece(*connection_, bus, piece, &error)) {
      if (!connection_->good()) Drop(*connection_);
      Log(RTE_LOG_ERR, name_ + ": the device cannot reach new memory: " + error);
    }
  };
  if (files_.Insert(list, begin, end, send)) return;
  files_complete_ = false;
  if (connection_ != nullptr) {
    Log(RTE_LOG_ERR, name_ + ": new memory is in no file: the device cannot reach it");
  }
}

void Remote::Unmapping(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  files_.Erase(begin, end);
  Request request;
  request.kind = Kind::kForget;
  request.bus = begin;
  request.bytes = end - begin;
  Ask(request, -1);
}

void Remote::AwaitEnd() {
  for (;;) {
    pollfd end = {connection_->fd(), POLLRDHUP, 0};
    const bool gone = poll(&end, 1, static_cast<int>(kLook.count())) > 0;
    const std::scoped_lock lock(mutex_);
    if (stop_) return;
    if (!gone && queue_->LinkUp()) continue;
    Drop(*connection_);
    connection_.reset();
    return;
  }
}

void Remote::Watch() {
  pthread_setname_np(pthread_self(), ("link-" + name_).substr(0, 15).c_str());
  const cpu_set_t cpus = ControlCpus();
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  for (;;) {
    AwaitEnd();
    std::string said;
    milliseconds pause = kLook;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (said.empty() && !stop_) {
          said = "the device at " + path_ + " is gone; the link is down until it is back";
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

std::unique_ptr<Attachment> AttachRemote(std::string_view name, Model model,
                                         const Settings& settings, const std::string& path,
                                         std::string* error) {
  try {
    auto remote = std::make_unique<Remote>(name, model, settings, path);
    if (remote->Start(error)) return remote;
  } catch (const std::system_error& failure) {
    *error = std::string("cannot start the thread that watches the device: ") + failure.what();
  }
  return nullptr;
}

}  // namespace sluice::emulator

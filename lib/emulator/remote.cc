// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "emulator/interrupt_socket.h"
#include "emulator/log.h"
#include "emulator/mapped_files.h"
#include "emulator/queue_memory.h"
#include "emulator/remote_attachment.h"
#include "emulator/running_model.h"
#include "regs/vectors.h"

namespace sluice::emulator {

namespace {

using std::chrono::milliseconds;

/// Interval between checks of the link, and initial interval between connection attempts. The
/// interval between attempts increases up to kMaxPause.
constexpr milliseconds kLook{50};
constexpr milliseconds kMaxPause{1000};

}  // namespace

void TotalStatistics::Merge(const std::vector<Statistic>& fresh, bool returned) {
  if (values_.empty()) {
    for (const Statistic& statistic : fresh) values_.push_back({statistic.name, 0});
    counted_.resize(fresh.size());
  }
  // A restarted device may have different counters, but the names in this list are constant.
  std::vector<uint64_t> counts = counted_;
  bool anew = false;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::string& name = values_[i].name;
    auto found = i < fresh.size() && fresh[i].name == name
                     ? fresh.begin() + static_cast<ptrdiff_t>(i)
                     : std::find_if(fresh.begin(), fresh.end(),
                                    [&](const Statistic& s) { return s.name == name; });
    if (found != fresh.end()) counts[i] = found->value;
    // A reset preserves a device's counters; a new process starts at 0.
    anew = anew || (returned && name.starts_with("model_") && counts[i] < counted_[i]);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    values_[i].value += counts[i] - (anew ? 0 : counted_[i]);
  }
  counted_ = std::move(counts);
}

bool Remote::Start(std::string* error) {
  queue_memory_ = CreateQueue(&queue_);
  if (queue_ == nullptr) {
    *error = std::string("no memory for the register queue: ") + std::strerror(errno);
    return false;
  }
  queue_->MarkLinkDown();
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
  if (queue_ != nullptr) queue_->MarkLinkDown();
}

bool Remote::Guard(const void* begin, size_t bytes, std::string* error) {
  if (guards_.contains(begin)) return true;
  // The file may be truncated or lose a page. The guard replaces only the lost page, so that the
  // application keeps its other data.
  GuardedRange guard(const_cast<void*>(begin), bytes, GuardedRange::Loss::kPage, alarm_);
  if (!guard) {
    *error = "too much memory is shared with devices, or too many files are open";
    return false;
  }
  guards_.emplace(begin, std::move(guard));
  return true;
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

int Remote::MapExternal(void* begin, size_t bytes, std::string* error) {
  std::vector<MappedPart> parts = FindMappedFiles(begin, bytes, error);
  if (parts.empty()) return -ENOTSUP;
  const std::scoped_lock lock(mutex_);
  const auto bus = reinterpret_cast<uint64_t>(begin);
  if (holdings_.HasExternal(bus, bytes)) return 0;
  const bool was_guarded = guards_.contains(begin);
  error->clear();
  const bool mapped = Guard(begin, bytes, error) &&
                      holdings_.MapExternal(connection_.get(), bus, bytes, std::move(parts), error);
  if (!mapped && !was_guarded) guards_.erase(begin);
  DropIfBad();
  return mapped ? 0 : connection_ != nullptr && connection_->good() ? -EINVAL : -EIO;
}

int Remote::UnmapExternal(void* begin, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto bus = reinterpret_cast<uint64_t>(begin);
  if (!holdings_.UnmapExternal(connection_.get(), bus, bytes)) return -EINVAL;
  guards_.erase(begin);
  DropIfBad();
  return 0;
}

bar::RingMemory Remote::Adopt(std::string_view name) {
  if (name.empty() || name.size() >= kNameBytes) return {};
  Request request;
  request.kind = Kind::kAdopt;
  SetText(request.name, name);
  Reply reply;
  base::OwnedFd file;
  const std::scoped_lock lock(mutex_);
  if (!Ask(request, &reply, &file) || !file) return {};
  return bar::RingMemory::FromFile(file.Release(), reply.bytes, (reply.flags & kMirrored) != 0);
}

std::vector<Statistic> Remote::Statistics() {
  const std::scoped_lock lock(mutex_);
  std::vector<Statistic> fresh;
  std::string error;
  if (connection_ != nullptr) {
    if (connection_->AskStatistics(&fresh, &error)) Merge(fresh, false);
    DropIfBad();
  }
  return totals_.values();
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
  if (connection_ != nullptr)
    Log(RTE_LOG_ERR, name_ + ": the device cannot access new memory: " + missing_);
}

void Remote::Unmapping(uint64_t begin, uint64_t end) {
  const std::scoped_lock lock(mutex_);
  holdings_.RemoveMemory(connection_.get(), begin, end);
  DropIfBad();
}

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

// Connects to a device, detects when it is lost, and connects again.

bool Remote::Reach(std::string* error) {
  base::OwnedFd socket = Connect(socket_.path, socket_.trusted, error);
  if (!socket) return false;
  const std::optional<Peer> device = PeerOf(socket);
  auto connection = std::make_unique<Connection>(Channel(std::move(socket)));
  Request hello;
  hello.kind = Kind::kHello;
  hello.bytes = queue_memory_.bytes();
  SetText(hello.model, model_.name);
  std::ranges::copy(settings_, hello.settings);
  SetText(hello.name, name_);
  Reply welcome;
  if (!connection->Ask(hello, queue_memory_.fd(), &welcome, nullptr, error)) return false;

  base::OwnedFd device_end;
  if (!InterruptSocket::Pair(&device_end, &interrupt_socket_)) {
    *error = std::string("cannot create a socket for interrupts: ") + std::strerror(errno);
    return false;
  }
  Request interrupts;
  interrupts.kind = Kind::kInterrupts;
  Reply taken;

  const std::scoped_lock lock(mutex_);
  std::vector<Statistic> fresh;
  if (!holdings_.HandOver(*connection, error) || !connection->AskStatistics(&fresh, error) ||
      !connection->Ask(interrupts, device_end.fd(), &taken, nullptr, error)) {
    return false;
  }
  Merge(fresh, true);
  std::copy_n(welcome.mac, sizeof(mac_), mac_);
  connection_ = std::move(connection);
  // A thread that sees the link up must also see the new generation, because the device has lost
  // its state.
  generation_.fetch_add(1, std::memory_order_acq_rel);
  queue_->SetModelProcess(device ? device->pid : 0);
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
  queue_->MarkLinkDown();
  connection_->Shutdown();
}

bool Remote::Ask(const Request& request, Reply* reply, base::OwnedFd* received) {
  if (connection_ == nullptr) return false;
  std::string unsaid;
  const bool answered = connection_->Ask(request, -1, reply, received, &unsaid);
  DropIfBad();
  return answered;
}

bool Remote::AwaitEnd() {
  for (;;) {
    std::array<pollfd, 3> ends = {{{connection_->fd(), POLLRDHUP, 0},
                                   {alarm_.fd(), POLLIN, 0},
                                   {interrupt_socket_.fd(), POLLIN, 0}}};
    poll(ends.data(), ends.size(), static_cast<int>(kLook.count()));
    const bool gone = (ends[0].revents | ends[1].revents) != 0;
    if (ends[2].revents != 0) {
      InterruptSocket::Receive(interrupt_socket_,
                               [this](uint32_t vector) { interrupts_.Raise(vector); });
      if ((ends[2].revents & ~POLLIN) != 0)
        interrupt_socket_ = base::OwnedFd();  // The device has closed the socket.
    }
    const std::scoped_lock lock(mutex_);
    if (stop_) return false;
    const bool lost = alarm_.Rung();
    if (!gone && !lost && queue_->LinkUp()) continue;
    queue_->MarkLinkDown();
    connection_.reset();
    if (lost) {
      Log(RTE_LOG_ERR,
          name_ + ": the device at " + socket_.path +
              " truncated shared memory; the link stays down until the port is attached again");
    }
    return !lost;
  }
}

void Remote::Watch() {
  pthread_setname_np(pthread_self(), ("link-" + name_).substr(0, 15).c_str());
  const cpu_set_t cpus = ControlCpus();
  pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
  for (;;) {
    const bool may_return = AwaitEnd();
    interrupts_.Raise(regs::kPortVector);
    if (!may_return) return;
    std::string last_message;
    milliseconds pause = kLook;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (last_message.empty() && !stop_) {
          last_message =
              "the device at " + socket_.path + " is gone; the link is down until it is back";
          Log(RTE_LOG_WARNING, name_ + ": " + last_message);
        }
        if (stopping_.wait_for(lock, pause, [this] { return stop_; })) return;
      }
      std::string error;
      if (Reach(&error)) break;
      if (error != last_message) Log(RTE_LOG_INFO, name_ + ": " + error);
      last_message = error;
      pause = std::min(2 * pause, kMaxPause);
    }
    interrupts_.Raise(regs::kPortVector);
    Log(RTE_LOG_NOTICE, name_ + ": the device is back, generation " + std::to_string(Generation()));
  }
}

}  // namespace sluice::emulator

// SPDX-License-Identifier: BSD-3-Clause
//
// Connects to a device, detects its loss, and connects again.
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/interrupt_socket.h"
#include "emulator/log.h"
#include "emulator/remote_attachment.h"
#include "emulator/running_model.h"
#include "regs/vectors.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

/// Interval between checks of the link and initial interval between connection attempts; the latter
/// increases up to kMaxPause.
constexpr milliseconds kLook{50};
constexpr milliseconds kMaxPause{1000};

}  // namespace

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
  // A thread that sees the link up must also see that the device has lost its state.
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
        interrupt_socket_ = base::OwnedFd();  // The device has closed it.
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

// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/bus_server.h"

#include <poll.h>
#include <rte_log.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "emulator/log.h"

namespace sluice::emulator::vfio_user {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::unique_ptr<BusServer> BusServer::Create(const std::string& path, const ModelInfo& info,
                                             const SettingValues& settings, HostedModel& model,
                                             std::string* error, bool interrupts) {
  const PciFunction* const function = FunctionOf(info, interrupts);
  if (function == nullptr) {
    *error = std::string(info.title) + " is not a PCI function: use --socket";
    return nullptr;
  }
  std::unique_ptr<Listener> listener = Listener::Create(path, error, SOCK_STREAM);
  if (listener == nullptr) return nullptr;
  const FunctionParts parts = {info, *function, settings, model};
  return std::unique_ptr<BusServer>(new BusServer(parts, std::move(listener)));
}

BusServer::BusServer(const FunctionParts& parts, std::unique_ptr<Listener> listener)
    : parts_(parts), listener_(std::move(listener)) {}

BusServer::~BusServer() { Reset(); }

bool BusServer::Turn(int wake, milliseconds patience) {
  if (client_ != nullptr && client_->deadline() != steady_clock::time_point::max()) {
    const auto left = std::chrono::ceil<milliseconds>(client_->deadline() - steady_clock::now());
    patience = std::clamp(left, milliseconds(0), patience);
  }
  const bool pending = client_ != nullptr && client_->pending();
  if (pending) patience = milliseconds(0);
  const short wanted = client_ != nullptr && client_->waiting() ? POLLOUT : POLLIN;
  // Accepts the next newcomer only after the previous one has sent its version message.
  const bool hears_newcomers = client_ == nullptr || client_->attached();
  const int newcomers = hears_newcomers ? listener_->Await(&patience) : -1;
  const bool speaks = client_ != nullptr && !client_->waiting();
  std::array<pollfd, 5> wait = {{{wake, POLLIN, 0},
                                 {client_ != nullptr ? client_->fd() : -1, wanted, 0},
                                 {newcomers, POLLIN, 0},
                                 {client_ != nullptr ? client_->alarm() : -1, POLLIN, 0},
                                 {speaks ? client_->speaks() : -1, POLLIN, 0}}};
  poll(wait.data(), wait.size(), static_cast<int>(patience.count()));
  if (wait[0].revents != 0) return false;
  // Handles the current client first: a newcomer may have connected because that client is gone.
  if (wait[3].revents != 0) {
    End("the client truncated memory that the device uses");
  } else if (wait[1].revents != 0 || wait[4].revents != 0 || pending) {
    Hear();
  }
  // Checks the deadline only after Hear, because this process may have been suspended past the
  // deadline although the client sent its message in time.
  if (client_ != nullptr && client_->TriesPatience()) {
    End(client_->attached() ? "the client does not read answers"
                            : "the client does not send its version");
  }
  if (wait[2].revents != 0) Accept();
  return true;
}

void BusServer::Accept() {
  // Does not accept a newcomer while a client that hung up still has unread messages.
  pollfd hung_up = {client_ != nullptr ? client_->fd() : -1, POLLRDHUP, 0};
  if (poll(&hung_up, 1, 0) > 0) return;
  base::OwnedFd socket = listener_->Accept();
  if (!socket) return;
  const std::optional<Peer> peer = PeerOf(socket);
  if (!peer || !IsOwnOrRoot(peer->uid)) {
    Log(RTE_LOG_ERR, "rejected a connection from another user's process");
  } else if (client_ != nullptr) {
    Log(RTE_LOG_ERR,
        "rejected process " + std::to_string(peer->pid) + ": the device already serves process " +
            std::to_string(client_->peer().pid) + ": end it, or start another sluice-device");
  } else {
    try {
      client_ = std::make_unique<Session>(std::move(socket), *peer, parts_);
    } catch (const std::bad_alloc&) {  // Closes the newcomer's connection.
    }
  }
}

void BusServer::Hear() {
  const bool was_attached = client_->attached();
  try {
    std::string reason;
    const bool stays = client_->Turn(&reason);
    if (client_->attached() && !was_attached) {
      ++hosts_;
      Log(RTE_LOG_INFO, "process " + std::to_string(client_->peer().pid) + " attached");
    }
    if (!stays) End(reason);
  } catch (const std::bad_alloc&) {
    End("out of memory");
  }
}

void BusServer::End(std::string_view reason) {
  const pid_t pid = client_->peer().pid;
  client_.reset();
  try {
    const std::string who = "process " + std::to_string(pid);
    if (reason.empty()) {
      Log(RTE_LOG_INFO, who + " is gone");
    } else {
      Log(RTE_LOG_ERR, (who + " is disconnected: ").append(reason));
    }
  } catch (const std::bad_alloc&) {  // The connection has been closed; only the log message is
                                     // missing.
  }
}

void BusServer::Reset() {
  if (client_ == nullptr) return;
  client_->Part();
  End("the link is reset");
}

std::string BusServer::Attached() const {
  if (client_ == nullptr || !client_->attached()) return "";
  return "process " + std::to_string(client_->peer().pid);
}

}  // namespace sluice::emulator::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/client_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::emulator::vfio_user {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Up to this many files are received, so that a message with too many files is detected.
static_assert(kMaxReceivedFiles > kMaxMessageFiles);

bool ClientSocket::Receive(const char** wrong) {
  *wrong = nullptr;
  Received received = ReceiveWithFiles(socket_.fd(), piece_.data(), piece_.size());
  if (received.bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (received.bytes == 0) return false;
  *wrong = received.cut ? "a message has too many files, or this process is out of descriptors"
                        : reader_.Read({piece_.data(), static_cast<size_t>(received.bytes)},
                                       std::move(received.files));
  return *wrong == nullptr;
}

bool ClientSocket::HungUp() const {
  pollfd end = {socket_.fd(), 0, 0};  // poll always reports POLLHUP.
  return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

bool ClientSocket::TrySend(std::span<const uint8_t> bytes, int file, size_t* sent) {
  const ssize_t took = SendWithFile(socket_.fd(), bytes.data(), bytes.size(), file);
  *sent = took > 0 ? static_cast<size_t>(took) : 0;
  return took >= 0 || errno == EAGAIN;
}

bool ClientSocket::Send(const Header& header, std::span<const uint8_t> payload, int file,
                        const char** wrong) {
  *wrong = nullptr;
  std::array<uint8_t, sizeof(Header)> head;
  std::memcpy(head.data(), &header, sizeof(header));
  if (waiting_bytes() + head.size() + payload.size() > kMaxWaitingBytes) {
    *wrong = "the client does not read replies: more than 16 MiB is queued";
    return false;
  }
  if (!waiting()) {
    outbox_.clear();
    sent_ = 0;
  }
  const size_t begin = outbox_.size();
  outbox_.insert(outbox_.end(), head.begin(), head.end());
  outbox_.insert(outbox_.end(), payload.begin(), payload.end());
  // A file is attached to the first byte of its message, so that byte must not be queued. A client
  // must therefore read earlier replies before it requests a file.
  if (file >= 0 && begin != sent_) {
    *wrong = "the client requests a file without reading earlier replies";
    return false;
  }
  if (file < 0 && begin != sent_) return true;
  size_t sent = 0;
  const bool alive = TrySend({&outbox_[begin], outbox_.size() - begin}, file, &sent);
  sent_ += sent;
  return alive && (file < 0 || sent != 0);
}

bool ClientSocket::Discard(milliseconds quiet, milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  pollfd wait = {socket_.fd(), POLLIN, 0};
  while (steady_clock::now() < deadline && poll(&wait, 1, static_cast<int>(quiet.count())) == 1) {
    const Received received = ReceiveWithFiles(socket_.fd(), piece_.data(), piece_.size());
    if (received.bytes == 0) return false;
    if (received.bytes < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  return true;
}

void ClientSocket::Part() {
  // If QEMU cannot send a message when the connection ends, it keeps that message and all later
  // ones forever. Reading its messages first avoids this.
  if (!Discard(milliseconds(10), kPartingPatience / 2)) return;
  shutdown(socket_.fd(), SHUT_WR);
  Discard(milliseconds(100), kPartingPatience / 2);
}

bool ClientSocket::Flush() {
  if (!waiting()) return true;
  size_t sent = 0;
  const bool alive = TrySend({&outbox_[sent_], outbox_.size() - sent_}, -1, &sent);
  sent_ += sent;
  return alive;
}

}  // namespace sluice::emulator::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/cable_link.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "emulator/log.h"
#include "emulator/message.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

/// Polls a connection for up to `patience`. Returns its events, or 0 if there are none.
short Events(const Channel& channel, milliseconds patience = milliseconds(0)) {
  pollfd look = {channel.fd(), POLLIN | POLLRDHUP, 0};
  return poll(&look, 1, static_cast<int>(patience.count())) > 0 ? look.revents : short{0};
}

/// Returns the reason why a received message of `bytes` bytes is invalid, or null if it is valid.
const char* WhyNotAMessage(const CableMessage& message, std::optional<size_t> bytes) {
  if (!bytes || *bytes != sizeof(message)) return "empty message or wrong message length";
  if (message.magic != CableMessage{}.magic) return "the other process is not an end of a cable";
  if (message.version != CableMessage{}.version) {
    return "protocol version mismatch; use the same build at both ends";
  }
  return nullptr;
}

}  // namespace

void CableLink::LogMessage(uint32_t level, std::string_view what) const {
  Log(level, std::string(who_).append(": ").append(what));
}

bool CableLink::Start(milliseconds patience, std::string* error) {
  // Retries, because another end may start or stop listening between any two steps.
  for (int attempts = 0; attempts < 8; ++attempts) {
    error->clear();
    if (Ask(error)) {
      if (!HearAnswer(patience, error)) return false;
      if (state_ != State::kAlone) return true;
    } else if (!error->empty()) {
      return false;
    } else if (BeginListening(error)) {
      return true;
    }
  }
  if (error->empty())
    *error = "the process that listens at " + path_ + " closed the connection: use another name";
  return false;
}

bool CableLink::Ask(std::string* error) {
  base::OwnedFd socket = ConnectTo(path_);
  if (!socket) return false;
  const std::optional<Peer> peer = PeerOf(socket);
  if (!peer || !IsOwnOrRoot(peer->uid)) {
    *error = "a process of another user listens at " + path_ + "; give another name";
    return false;
  }
  auto memory =
      bar::RingMemory::Create(CableMemory::kBytes, false, bar::RingMemory::Pages::kPreferHuge);
  const int reason = errno;
  if (const char* const wrong = memory ? Share(std::move(memory)) : std::strerror(reason)) {
    *error = std::string("no memory for a cable: ") + wrong;
    return false;
  }
  new (shared_->memory.data()) CableMemory;
  CableMessage hello;
  std::copy(mac_.begin(), mac_.end(), hello.mac);
  channel_ = Channel(std::move(socket));
  channel_.Send(&hello, sizeof(hello), shared_->memory.fd());
  peer_ = peer->pid;
  connected_ = true;
  state_ = State::kAsking;
  return true;
}

bool CableLink::HearAnswer(milliseconds patience, std::string* error) {
  if (Events(channel_, patience) == 0) return true;  // No answer yet.
  CableMessage answer;
  base::OwnedFd none;
  const auto bytes = channel_.Receive(&answer, sizeof(answer), &none, milliseconds(0));
  std::string_view text;
  const char* const wrong = WhyNotAMessage(answer, bytes);
  if (wrong == nullptr && answer.refused == 0) {
    Join(peer_, answer.mac);
    return true;
  }
  Release();
  // The other end may disappear without an answer; that is not an error.
  if (wrong != nullptr || !GetText(answer.text, &text)) return true;
  *error = text;
  return false;
}

const char* CableLink::Share(bar::RingMemory memory) {
  auto shared = std::make_unique<Shared>();
  shared->memory = std::move(memory);
  shared->guard = GuardedRange(shared->memory.data(), shared->memory.bytes(),
                               GuardedRange::Loss::kRange, shared->alarm);
  if (!shared->guard) return "too many files are open";
  shared_ = std::move(shared);
  return nullptr;
}

void CableLink::Join(pid_t peer, const uint8_t mac[6]) {
  peer_ = peer;
  std::copy_n(mac, peer_mac_.size(), peer_mac_.begin());
  state_ = State::kJoined;
  logged_.clear();
  LogMessage(RTE_LOG_NOTICE, "connected to process " + std::to_string(peer_));
}

void CableLink::Cut(std::string_view why) {
  channel_ = Channel();
  state_ = State::kCut;
  if (why.empty()) {
    LogMessage(RTE_LOG_WARNING, "the other end is gone; the link is down until it is back");
  } else {
    LogMessage(RTE_LOG_ERR, std::string("process ")
                                .append(std::to_string(peer_))
                                .append(" is disconnected: ")
                                .append(why));
  }
}

void CableLink::Release() {
  channel_ = Channel();
  shared_.reset();
  connected_ = false;
  peer_ = 0;
  state_ = State::kAlone;
}

void CableLink::Turn(uint64_t now_ns) {
  switch (state_) {
    case State::kAlone:
      if (listener_ == nullptr || !listener_->OwnsPath()) Seek(now_ns);
      break;
    case State::kAsking: {
      std::string error;
      if (HearAnswer(milliseconds(0), &error)) break;
      if (error != logged_) LogMessage(RTE_LOG_ERR, error);
      logged_ = error;
      next_seek_ns_ = now_ns + kPatience_ns;
      break;
    }
    case State::kJoined:
      // Joined ends do not exchange messages, so any event is an error or the end of the
      // connection.
      if (Events(channel_) != 0) {
        Cut("");
      } else if (shared_->alarm.Rung()) {
        Cut("the other end truncated the shared memory");
      }
      break;
    case State::kCut:
      break;
  }
  if (newcomer_ != nullptr) Greet(now_ns);
  if (listener_ != nullptr && newcomer_ == nullptr) Accept(now_ns);
}

void CableLink::Seek(uint64_t now_ns) {
  // If this end had a listener, another process has replaced the socket at its path; that process
  // is the other end.
  listener_.reset();
  newcomer_.reset();
  if (now_ns < next_seek_ns_) return;
  std::string error;
  if (Ask(&error) || (error.empty() && BeginListening(&error))) return;
  LogMessage(RTE_LOG_INFO, error);
  next_seek_ns_ = now_ns + kPatience_ns / 20;
}

bool CableLink::BeginListening(std::string* error) {
  listener_ = Listener::Create(path_, error);
  return listener_ != nullptr;
}

void CableLink::Accept(uint64_t now_ns) {
  base::OwnedFd socket = listener_->Accept();
  if (!socket) return;
  const std::optional<Peer> peer = PeerOf(socket);
  if (!peer || !IsOwnOrRoot(peer->uid)) {
    LogMessage(RTE_LOG_ERR, "rejected a connection from another user's process");
    return;
  }
  newcomer_ = std::make_unique<Newcomer>(
      Newcomer{Channel(std::move(socket)), peer->pid, now_ns + kPatience_ns});
  Greet(now_ns);
}

void CableLink::Greet(uint64_t now_ns) {
  if (state_ == State::kCut) return;  // The newcomer must wait until Release.
  if (state_ == State::kJoined) {
    Refuse(*newcomer_, "the cable already connects processes " + std::to_string(getpid()) +
                           " and " + std::to_string(peer_) +
                           ": end one of them, or give another name");
    newcomer_.reset();
    return;
  }
  const short events = Events(newcomer_->channel);
  if (events == 0 && now_ns < newcomer_->deadline_ns) return;
  const std::unique_ptr<Newcomer> newcomer = std::move(newcomer_);
  CableMessage hello;
  base::OwnedFd file;
  const auto bytes = newcomer->channel.Receive(&hello, sizeof(hello), &file, milliseconds(0));
  if (!bytes && (events & (POLLHUP | POLLRDHUP)) != 0)
    return;  // The process connected only to find out whether a listener exists.
  const char* wrong = WhyNotAMessage(hello, bytes);
  if (wrong == nullptr) {
    auto memory = bar::RingMemory::FromFile(file.Release(), CableMemory::kBytes, false);
    wrong = memory ? Share(std::move(memory)) : "the memory of the other end cannot be mapped";
  }
  if (wrong != nullptr) {
    LogMessage(RTE_LOG_ERR, std::string("refused process ")
                                .append(std::to_string(newcomer->pid))
                                .append(": ")
                                .append(wrong));
    return Refuse(*newcomer, wrong);
  }
  CableMessage welcome;
  std::copy(mac_.begin(), mac_.end(), welcome.mac);
  channel_ = std::move(newcomer->channel);
  connected_ = false;
  // If the other end is gone, the next turn will detect that.
  channel_.Send(&welcome, sizeof(welcome));
  Join(newcomer->pid, hello.mac);
}

void CableLink::Refuse(Newcomer& newcomer, const std::string& why) {
  CableMessage refusal;
  refusal.refused = 1;
  SetText(refusal.text, why);
  newcomer.channel.Send(&refusal, sizeof(refusal));
}

}  // namespace sluice::emulator

// SPDX-License-Identifier: BSD-3-Clause
//
// Handles a client's requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bar/dma.h"
#include "cpu/process_patience.h"
#include "emulator/guarded_range.h"
#include "emulator/message.h"
#include "emulator/vfio_user/client_interrupts.h"
#include "emulator/vfio_user/client_socket.h"
#include "emulator/vfio_user/function_host.h"
#include "emulator/vfio_user/guest_memory.h"
#include "emulator/vfio_user/version.h"

namespace sluice::emulator::vfio_user {

/// Serves one client from connection to disconnection. Used by one thread. If a function throws an
/// exception or returns a reason, the caller must disconnect the client. The destructor first
/// disconnects the function, then unmaps the client's memory.
class Session {
 public:
  Session(base::OwnedFd socket, Peer peer, const FunctionParts& parts);

  int fd() const { return socket_.file().fd(); }
  int alarm() const { return alarm_.fd(); }
  /// Returns a descriptor that is readable when the device has a message to send. Must be polled
  /// only while waiting() is false.
  int speaks() const { return messages_.fd(); }
  const Peer& peer() const { return peer_; }
  /// Returns whether the client has completed the version exchange.
  bool attached() const { return host_ != nullptr; }
  /// Returns the time at which to call TriesPatience. There is a deadline only while this process
  /// waits for the client's first message, or for the client to read its answers.
  std::chrono::steady_clock::time_point deadline() const {
    return waits_ ? patience_.deadline() : std::chrono::steady_clock::time_point::max();
  }
  /// Returns true if this process has waited long enough for the client; time during which the
  /// client had no CPU is excluded. Must be called after Turn, so that received requests are
  /// handled first.
  bool TriesPatience() { return waits_ && patience_.Ends(peer_.pid); }
  bool waiting() const { return socket_.waiting(); }
  /// Returns whether Turn can handle further received requests now.
  bool pending() const { return !waiting() && !socket_.messages().empty(); }

  /// Handles received data, messages from the device, and unsent data. Returns after the request
  /// during which kTurnTime expires, even if more requests are pending. If the session is over,
  /// returns false and sets `*reason`, which is empty if the client has closed the connection.
  bool Turn(std::string* reason);
  /// Must be called last if the client made no error, so that the client sees an orderly end of the
  /// connection.
  void Part() { socket_.Part(); }

 private:
  /// Result of a request: an errno for the client, or 0.
  struct Outcome {
    int error = 0;
    std::vector<uint8_t> payload = {};
    int file = -1;
    /// Reason to end the session without an answer; null otherwise.
    const char* fatal = nullptr;
  };

  /// Time limit for a turn, after which signals and a hang-up are checked.
  static constexpr std::chrono::milliseconds kTurnTime{50};

  /// Handles requests for kTurnTime. Returns false as Turn does.
  bool HandlePending(std::string* reason);
  bool Handle(Message& message, std::string* reason);
  /// Returns false if the client is gone or must be disconnected. In the latter case, sets
  /// `*reason`.
  bool Send(const Header& header, std::span<const uint8_t> payload, int file, std::string* reason);
  /// Sends the device's messages. Returns false as Send does.
  bool SendDma(std::string* reason);
  /// Handles the client's answer to the device. Returns null, or the reason why the answer is
  /// invalid.
  const char* AcceptReply(const Message& message);
  Outcome Greet(const Message& message);
  Outcome Answer(Message& message);
  Outcome GetInfo(const Message& message) const;
  Outcome GetRegionInfo(const Message& message) const;
  Outcome GetIrqInfo(const Message& message) const;
  Outcome SetIrqs(Message& message);
  Outcome MapMemory(const Message& message);
  Outcome UnmapMemory(const Message& message);
  Outcome ReadRegion(const Message& message);
  Outcome WriteRegion(const Message& message);
  Outcome WriteMultiple(const Message& message);
  bool HasBytes(uint32_t region, uint64_t offset, uint64_t count) const;
  /// Returns an answer with `error`. Logs the reasons of the first kMaxToldRefusals refusals.
  Outcome Refuse(int error, const char* why);

  const FunctionParts parts_;
  const Peer peer_;
  bool waits_ = true;  ///< Whether this process is waiting for the client.
  cpu::ProcessPatience patience_{kMessagePatience};
  ClientSocket socket_;
  /// False once the client is gone or `wrong_` is set; no more data is then received.
  bool hears_ = true;
  const char* wrong_ = nullptr;
  Agreement agreement_;
  LossAlarm alarm_;
  const std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  MessageDma messages_;
  GuestMemory memory_{*dma_, messages_, alarm_};
  ClientInterrupts interrupts_{messages_};
  std::unique_ptr<FunctionHost> host_;  ///< Must be declared after the members that it uses.
  uint32_t refusals_ = 0;
  bool told_of_messages_ = false;
  bool told_of_refusals_ = false;
};

}  // namespace sluice::emulator::vfio_user

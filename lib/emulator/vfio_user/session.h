// SPDX-License-Identifier: BSD-3-Clause
//
// What one client says, and what is done about it.
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

/// One thread. Whatever is thrown or returned as a reason ends the client: the destructor takes
/// the function from it, then its memory.
class Session {
 public:
  Session(File socket, Peer peer, const FunctionParts& parts);

  int fd() const { return socket_.file().fd(); }
  int alarm() const { return alarm_.fd(); }
  /// Readable when the device has something to say, while nothing waits.
  int speaks() const { return messages_.fd(); }
  const Peer& peer() const { return peer_; }
  /// The client has said which protocol it speaks.
  bool attached() const { return host_ != nullptr; }
  /// When to call TriesPatience: this process waits for the client's first message, or for it to
  /// read what it is told.
  std::chrono::steady_clock::time_point deadline() const {
    return waits_ ? patience_.deadline() : std::chrono::steady_clock::time_point::max();
  }
  /// Returns true once this process has waited long enough for a client that had a CPU. Called
  /// after Turn, so that requests which have arrived are handled first.
  bool TriesPatience() { return waits_ && patience_.Ends(peer_.pid); }
  bool waiting() const { return socket_.waiting(); }
  /// Requests have arrived that Turn has not handled yet.
  bool pending() const { return !waiting() && !socket_.messages().empty(); }

  /// Something arrived, the device speaks, or there is room for what waits. Returns after
  /// kTurnTime, when a request has ended, even if more are pending. False: it is over, and
  /// `*reason` says why, empty if the client is gone by itself.
  bool Turn(std::string* reason);
  /// To be called last where the client did nothing wrong: it shall find its connection ended and
  /// nothing broken.
  void Part() { socket_.Part(); }

 private:
  /// How a request ends: an errno for the client, 0: none.
  struct Outcome {
    int error = 0;
    std::vector<uint8_t> payload = {};
    int file = -1;
    /// The client is told nothing any more.
    const char* fatal = nullptr;
  };

  /// Requests that follow are handled in the next turn, so that signals and a hang-up are seen.
  static constexpr std::chrono::milliseconds kTurnTime{50};

  /// Handles requests for kTurnTime. False as Turn.
  bool HandlePending(std::string* reason);
  bool Handle(Message& message, std::string* reason);
  /// False: the client is gone, or `*reason` says why it must.
  bool Send(const Header& header, std::span<const uint8_t> payload, int file, std::string* reason);
  /// Sends what the device has to say. False as Send.
  bool SendDma(std::string* reason);
  /// The client has answered the device. Null, or why it cannot have been asked that.
  const char* TakeAnswer(const Message& message);
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
  /// Says why the client was refused something, the first times.
  Outcome Refuse(int error, const char* why);

  const FunctionParts parts_;
  const Peer peer_;
  bool waits_ = true;  ///< For the client.
  cpu::ProcessPatience patience_{kMessagePatience};
  ClientSocket socket_;
  bool hears_ = true;  ///< False: nothing more arrives, because `wrong_` or the client is gone.
  const char* wrong_ = nullptr;
  Agreement agreement_;
  LossAlarm alarm_;
  const std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  MessageDma messages_;
  GuestMemory memory_{*dma_, messages_, alarm_};
  ClientInterrupts interrupts_{messages_};
  std::unique_ptr<FunctionHost> host_;  ///< Goes before what it uses.
  uint32_t refusals_ = 0;
  bool told_of_messages_ = false;
  bool told_of_refusals_ = false;
};

}  // namespace sluice::emulator::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
//
// Client memory that is not backed by a file. The device's thread reads and writes a copy; messages
// transfer the bytes that it requests and writes. Neither thread waits for the other or for the
// client: while a client waits for a register, it may be unable to answer memory requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "bar/remote_memory.h"
#include "emulator/channel.h"
#include "emulator/vfio_user/message_reader.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user {

/// The device's thread uses the bar::RemoteMemory interface; the server's thread uses the other
/// functions.
class MessageDma final : public bar::RemoteMemory {
 public:
  MessageDma();

  using RemoteMemory::Ready;
  size_t Ready(const void* at, size_t bytes, size_t least) override;
  void Done(const void* at) override;
  void Forget() override;
  void Stored(const void* at, size_t bytes) override;
  bool congested() const override;
  bool Holds(const void* at) const override;

  /// Adds a range: `copy` represents the client's memory at `address`. The device must be stopped
  /// during Add and Remove.
  void Add(uint8_t* copy, uint64_t address, uint64_t bytes);
  void Remove(const uint8_t* copy);
  bool empty() const { return ranges_.empty(); }

  void set_max_transfer_bytes(uint32_t bytes) { max_transfer_bytes_ = bytes; }
  /// Returns a descriptor that is readable when there is a message to send.
  int fd() const { return wake_.fd(); }

  struct Outgoing {
    Header header;
    std::vector<uint8_t> payload;
  };
  /// Stores the next message for the client in `*outgoing`. Returns false if no message is ready.
  bool Next(Outgoing* outgoing);
  /// Handles an answer. Returns null, or the reason why the answer is invalid.
  const char* Answered(const Message& message);
  /// Returns the number of the latest write, or 0 if there was none. Writes are numbered from 1 in
  /// the order in which the device made them. Like HasArrived, may be called by any thread.
  uint64_t latest_write() const;
  /// Returns whether the client has answered `write` and all earlier writes. Writes withdrawn by
  /// Remove count as answered.
  bool HasArrived(uint64_t write) const;
  /// Returns the total number of messages that the client refused.
  uint64_t refusals() const;
  /// Returns whether the copies occupy so many pages that their memory should be freed. GivenBack
  /// resets the page count.
  bool bloated() const;
  void GivenBack();

  static constexpr size_t kMaxWaitingBytes = size_t{4} << 20;
  static constexpr size_t kMaxQuestions = 4096;
  /// Maximum number of messages that wait or are in flight. Above this number, congested() is true.
  static constexpr size_t kMaxMessages = 16384;
  static constexpr size_t kMaxUnderWay = 2 * kMaxMessages;
  static constexpr uint64_t kBloatedBytes = uint64_t{256} << 20;

 private:
  struct Range {
    uint8_t* copy;
    uint64_t address;
    uint64_t bytes;
  };
  /// Bytes that the device requested.
  struct Question {
    std::vector<uint8_t> bytes;  ///< The bytes that have arrived so far.
    size_t missing = 0;
    uint64_t number = 0;  ///< Distinguishes successive questions for one address.
    bool copied = false;
  };
  struct Wanted {
    uint64_t address;
    uint32_t bytes;
    const uint8_t* at;  ///< Key of the question.
    size_t offset;      ///< Offset in the question's bytes.
    uint64_t number;
  };
  struct Write {
    uint64_t address;
    std::vector<uint8_t> bytes;
    uint64_t number;
  };
  /// A write, or a question if `write.bytes` is empty. Tasks are in the order in which the device
  /// made them.
  struct Task {
    Write write;
    Wanted wanted;
  };
  struct UnderWay {
    size_t written;   ///< Number of bytes; 0 for a question.
    uint64_t number;  ///< Number of the write.
    Wanted wanted;
  };

  /// Returns null if the address is not in a range.
  const Range* Find(const void* at) const;
  /// Returns how many bytes of [at, at + bytes) one message can transfer, which are limited to one
  /// range.
  size_t Part(const uint8_t* at, size_t bytes) const;
  void ForgetQuestions();
  void Ask(const Range& range, const uint8_t* at, size_t bytes);
  void Wake();

  const base::OwnedFd wake_;
  uint32_t max_transfer_bytes_ = kMaxTransferBytes;
  std::vector<Range> ranges_;  ///< Sorted by `copy`. Changed only while the device is stopped.

  mutable std::mutex mutex_;  ///< Guards the following members.
  std::map<const uint8_t*, Question> questions_;
  uint64_t next_number_ = 0;
  std::deque<Task> tasks_;
  size_t waiting_bytes_ = 0;  ///< Bytes of writes in tasks_ and in flight.
  uint64_t latest_write_ = 0;
  std::set<uint64_t> unanswered_;  ///< Numbers of the unanswered writes.
  std::map<uint16_t, UnderWay> under_way_;
  uint16_t next_id_ = 0;
  uint64_t refusals_ = 0;
  uint64_t copied_bytes_ = 0;  ///< Size of the pages occupied by the copies, in bytes.
};

}  // namespace sluice::emulator::vfio_user

// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of a client that is in no file: the device's thread reads and writes a copy, and messages
// carry what it asked for and what it wrote. Neither thread waits for the other, nor for the
// client: who is asked for a register may not be able to answer for its memory meanwhile.
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

/// The device's thread has bar::RemoteMemory, the server's the rest.
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

  /// `copy` stands for the client's memory at `address`. While the device does nothing, as Remove.
  void Add(uint8_t* copy, uint64_t address, uint64_t bytes);
  void Remove(const uint8_t* copy);
  bool empty() const { return ranges_.empty(); }

  void set_max_transfer_bytes(uint32_t bytes) { max_transfer_bytes_ = bytes; }
  /// Readable when there is something to send.
  int fd() const { return wake_.fd(); }

  struct Outgoing {
    Header header;
    std::vector<uint8_t> payload;
  };
  /// The next message for the client. False: there is none for now.
  bool Next(Outgoing* outgoing);
  /// Takes in an answer. Null, or why the client was not asked that.
  const char* Answered(const Message& message);
  /// Writes are numbered from 1 on in the order in which the device made them: the latest one's; 0:
  /// there was none. Any thread, as HasArrived.
  uint64_t latest_write() const;
  /// Whether the client has answered that write and all before it. Those that Remove took back
  /// count as answered.
  bool HasArrived(uint64_t write) const;
  /// Of all time: messages that the client refused.
  uint64_t refusals() const;
  /// So many pages were copied to that the copy's memory should be given back; until it is.
  bool bloated() const;
  void GivenBack();

  static constexpr size_t kMaxWaitingBytes = size_t{4} << 20;
  static constexpr size_t kMaxQuestions = 4096;
  static constexpr size_t kMaxMessages = 16384;  ///< Waiting and under way, before congestion.
  static constexpr size_t kMaxUnderWay = 2 * kMaxMessages;
  static constexpr uint64_t kBloatedBytes = uint64_t{256} << 20;

 private:
  struct Range {
    uint8_t* copy;
    uint64_t address;
    uint64_t bytes;
  };
  /// Something that the device asked for.
  struct Question {
    std::vector<uint8_t> bytes;  ///< As far as they have arrived.
    size_t missing = 0;
    uint64_t number = 0;  ///< Tells it from an earlier one for the same place.
    bool copied = false;
  };
  struct Wanted {
    uint64_t address;
    uint32_t bytes;
    const uint8_t* at;  ///< Of the question.
    size_t offset;      ///< In it.
    uint64_t number;
  };
  struct Write {
    uint64_t address;
    std::vector<uint8_t> bytes;
    uint64_t number;
  };
  /// In the order in which the device said it: a write, or a question if `bytes` is empty.
  struct Task {
    Write write;
    Wanted wanted;
  };
  struct UnderWay {
    size_t written;   ///< Bytes; 0: a question.
    uint64_t number;  ///< Of the write.
    Wanted wanted;
  };

  /// Null: not remote.
  const Range* Find(const void* at) const;
  /// How much of [at, at + bytes) one message carries: what is in one range.
  size_t Part(const uint8_t* at, size_t bytes) const;
  void ForgetQuestions();
  void Ask(const Range& range, const uint8_t* at, size_t bytes);
  void Wake();

  const File wake_;
  uint32_t max_transfer_bytes_ = kMaxTransferBytes;
  std::vector<Range> ranges_;  ///< By copy. Changes while the device does nothing.

  mutable std::mutex mutex_;  ///< Guards the rest.
  std::map<const uint8_t*, Question> questions_;
  uint64_t next_number_ = 0;
  std::deque<Task> tasks_;
  size_t waiting_bytes_ = 0;  ///< Of writes among the tasks, and under way.
  uint64_t latest_write_ = 0;
  std::set<uint64_t> unanswered_;  ///< Numbers of these writes.
  std::map<uint16_t, UnderWay> under_way_;
  uint16_t next_id_ = 0;
  uint64_t refusals_ = 0;
  uint64_t copied_bytes_ = 0;  ///< In whole pages: that much memory a copy takes.
};

}  // namespace sluice::emulator::vfio_user

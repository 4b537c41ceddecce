// SPDX-License-Identifier: BSD-3-Clause
//
// A minimal vfio-user client, which resembles a virtual machine monitor that acts for its guest.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "emulator/channel.h"
#include "emulator/vfio_user/message_reader.h"
#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user::test {

/// A file in memory that is mapped in this process.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes)
      : bytes_(bytes), file_(memfd_create("vfio-user-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_EQ(ftruncate(file_.fd(), static_cast<off_t>(bytes)), 0);
    void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), 0);
    EXPECT_NE(begin, MAP_FAILED);
    begin_ = static_cast<uint8_t*>(begin);
  }
  ~SharedMemory() { munmap(begin_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  uint8_t* At(uint64_t offset) { return begin_ + offset; }
  size_t bytes() const { return bytes_; }
  int fd() const { return file_.fd(); }

 private:
  size_t bytes_;
  base::OwnedFd file_;
  uint8_t* begin_ = nullptr;
};

class Client {
 public:
  explicit Client(const std::string& path)
      : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      socket_ = base::OwnedFd();
    }
  }

  static constexpr int kPatience_ms = 30'000;

  /// Counts of the DMA requests that the device has sent so far.
  struct DmaRequests {
    uint64_t reads = 0;
    uint64_t writes = 0;
  };
  const DmaRequests& dma_requests() const { return dma_requests_; }

  int fd() const { return socket_.fd(); }
  void Disconnect() { socket_ = base::OwnedFd(); }

  /// Returns false if the device has closed the connection.
  bool Send(std::span<const uint8_t> bytes, const std::vector<int>& files = {}) {
    iovec part = {const_cast<uint8_t*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(64 * sizeof(int))> control{};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
    }
    return sendmsg(socket_.fd(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  /// Answers DMA messages from `memory`, which the device cannot map. `address` is the address of
  /// the first byte of the memory.
  void AnswerWith(SharedMemory* memory, uint64_t address) {
    memory_ = memory;
    address_ = address;
  }
  /// While this is enabled, the device's writes are neither executed nor answered.
  void HoldWrites(bool hold) {
    holds_writes_ = hold;
    for (const Message& write : std::exchange(held_, {})) Answer(write);
  }
  size_t held() const { return held_.size(); }
  /// Answers the device's pending requests.
  void Pump() {
    if (memory_ != nullptr) ReadStream(0);
  }

  /// Returns the next message that is not a request. Its size is 0 if none arrives in time or the
  /// device has closed the connection.
  Message Receive() {
    while (reader_.messages().empty()) {
      if (!ReadStream(kPatience_ms)) return {};
    }
    Message message = std::move(reader_.messages().front());
    reader_.messages().pop_front();
    return message;
  }
  /// Returns whether the device closes the connection in time. Ignores messages that arrive before
  /// that.
  bool Ended() {
    while (Receive().header.size != 0) {
    }
    pollfd wait = {socket_.fd(), POLLIN, 0};
    uint8_t byte;
    return poll(&wait, 1, 0) == 1 && recv(socket_.fd(), &byte, 1, MSG_DONTWAIT) <= 0;
  }

  Message Ask(Command command, std::span<const uint8_t> payload,
              const std::vector<int>& files = {}) {
    Send(MakeMessage(command, payload, ++id_), files);
    Message reply = Receive();
    if (reply.header.size != 0) {
      EXPECT_EQ(reply.header.id, id_);
      EXPECT_EQ(reply.header.command, static_cast<uint16_t>(command));
      EXPECT_EQ(reply.header.flags & kTypeMask, kReplyType);
    }
    return reply;
  }
  /// Returns whether the device answers without an error.
  bool Grants(Command command, std::span<const uint8_t> payload,
              const std::vector<int>& files = {}) {
    const Message reply = Ask(command, payload, files);
    return reply.header.size != 0 && (reply.header.flags & kErrorFlag) == 0;
  }
  /// Returns the errno in the device's answer, or 0 if there is no error. Returns -1 if no answer
  /// arrives in time or the device closes the connection.
  int Refusal(Command command, std::span<const uint8_t> payload,
              const std::vector<int>& files = {}) {
    const Message reply = Ask(command, payload, files);
    if (reply.header.size == 0) return -1;
    return (reply.header.flags & kErrorFlag) != 0 ? static_cast<int>(reply.header.error) : 0;
  }

  bool Greet() { return Grants(Command::kVersion, VersionPayload()); }
  bool Map(uint64_t address, uint64_t bytes, int file, uint64_t offset = 0,
           uint32_t flags = kDmaReadable | kDmaWritable) {
    return Grants(Command::kDmaMap, Join(DmaMap{sizeof(DmaMap), flags, offset, address, bytes}),
                  file >= 0 ? std::vector<int>{file} : std::vector<int>{});
  }
  bool Unmap(uint64_t address, uint64_t bytes, uint32_t flags = 0) {
    return Grants(Command::kDmaUnmap, Join(DmaUnmap{sizeof(DmaUnmap), flags, address, bytes}));
  }
  uint64_t Read(uint32_t region, uint64_t offset, uint32_t bytes) {
    const Message reply = Ask(Command::kRegionRead, Join(RegionAccess{offset, region, bytes}));
    uint64_t value = 0;
    if (reply.payload.size() != sizeof(RegionAccess) + bytes) {
      ADD_FAILURE() << "no answer to a read of region " << region << " at " << offset;
      return value;
    }
    std::memcpy(&value, reply.payload.data() + sizeof(RegionAccess), bytes);
    return value;
  }
  void Write(uint32_t region, uint64_t offset, uint32_t bytes, uint64_t value) {
    Bytes payload = Join(RegionAccess{offset, region, bytes}, value);
    payload.resize(sizeof(RegionAccess) + bytes);
    EXPECT_TRUE(Grants(Command::kRegionWrite, payload)) << region << " at " << offset;
  }
  /// Enables memory decoding, and bus mastering if `master` is true.
  void Enable(bool master = true) { Write(kConfigRegion, 4, 2, master ? 6 : 2); }

 private:
  /// Waits for data from the socket for at most `patience_ms` milliseconds and reads it. Returns
  /// false if no data arrives or the device has closed the connection.
  bool ReadStream(int patience_ms) {
    pollfd wait = {socket_.fd(), POLLIN, 0};
    if (poll(&wait, 1, patience_ms) != 1) return false;
    std::array<uint8_t, 65536> piece;
    iovec part = {piece.data(), piece.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t received = recvmsg(socket_.fd(), &message, MSG_CMSG_CLOEXEC);
    if (received <= 0) return false;
    std::vector<base::OwnedFd> files;
    if (const cmsghdr* const rights = CMSG_FIRSTHDR(&message)) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
      files.emplace_back(fd);
    }
    if (reader_.Read({piece.data(), static_cast<size_t>(received)}, std::move(files)) != nullptr) {
      return false;
    }
    // Answers requests immediately, before earlier messages of other kinds have been read.
    std::erase_if(reader_.messages(), [this](const Message& asked) {
      const bool question = (asked.header.flags & kTypeMask) == 0;
      if (question) Answer(asked);
      return question;
    });
    return true;
  }
  void Answer(const Message& asked) {
    if (holds_writes_ && asked.header.command == static_cast<uint16_t>(Command::kDmaWrite)) {
      Message& kept = held_.emplace_back();
      kept.header = asked.header;
      kept.payload = asked.payload;
      return;
    }
    DmaAccess access{};
    ASSERT_GE(asked.payload.size(), sizeof(access));
    std::memcpy(&access, asked.payload.data(), sizeof(access));
    const bool writes = asked.header.command == static_cast<uint16_t>(Command::kDmaWrite);
    Bytes payload = Join(access);
    ASSERT_NE(memory_, nullptr);
    ASSERT_TRUE(access.address >= address_ && access.count <= memory_->bytes() &&
                access.address - address_ <= memory_->bytes() - access.count)
        << "beyond what was mapped: " << access.address;
    uint8_t* const place = memory_->At(access.address - address_);
    if (writes) {
      ASSERT_EQ(asked.payload.size(), sizeof(access) + access.count);
      std::memcpy(place, asked.payload.data() + sizeof(access), access.count);
      ++dma_requests_.writes;
    } else {
      payload.insert(payload.end(), place, place + access.count);
      ++dma_requests_.reads;
    }
    Send(MakeMessage(static_cast<Command>(asked.header.command), payload, asked.header.id,
                     kReplyType));
  }

  base::OwnedFd socket_;
  MessageReader reader_;
  uint16_t id_ = 0;
  SharedMemory* memory_ = nullptr;
  uint64_t address_ = 0;
  DmaRequests dma_requests_;
  bool holds_writes_ = false;
  std::vector<Message> held_;
};

}  // namespace sluice::emulator::vfio_user::test

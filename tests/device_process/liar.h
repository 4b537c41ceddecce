// SPDX-License-Identifier: BSD-3-Clause
//
// A host that sends the requests that a test specifies, with registers and memory for them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "bar/bar.h"
#include "device.h"
#include "emulator/channel.h"
#include "emulator/message.h"
#include "emulator/queue_memory.h"
#include "emulator/remote.h"
#include "regs/ipu.h"

namespace sluice::emulator {

inline constexpr std::chrono::milliseconds kLiarPatience{10'000};

class Liar {
 public:
  explicit Liar(const std::string& path = TestSocket()) : memory_(CreateQueue(&queue_)) {
    std::string error;
    channel_ = Channel(Connect(path, {}, &error));
    EXPECT_TRUE(channel_) << error;
  }

  Request Hello() const {
    Request hello;
    hello.kind = Kind::kHello;
    hello.sequence = 1;
    hello.bytes = memory_.bytes();
    SetText(hello.model, kIpuModel.name);
    SetText(hello.name, "liar");
    return hello;
  }
  int queue_file() const { return memory_.fd(); }
  Channel& channel() { return channel_; }

  /// Sends the first `bytes` bytes of a request.
  void Send(const Request& request, int file, size_t bytes = sizeof(Request)) {
    channel_.Send(&request, bytes, file);
  }
  /// Returns 0 if the request was granted and 1 if it was refused. Returns nullopt if the
  /// connection has ended or no valid reply arrives within kLiarPatience.
  std::optional<uint16_t> Hear() {
    Reply reply;
    base::OwnedFd file;
    const auto bytes = channel_.Receive(&reply, sizeof(reply), &file, kLiarPatience);
    if (!bytes) return std::nullopt;
    EXPECT_GE(*bytes, sizeof(reply));
    return reply.refused;
  }
  void Attach() {
    Send(Hello(), queue_file());
    ASSERT_EQ(Hear(), 0);
    sequence_ = 1;
  }
  Request Next(Kind kind) {
    Request request;
    request.kind = kind;
    request.sequence = ++sequence_;
    return request;
  }

  /// Announces the file's first `bytes` bytes at `bus`, in an area that starts there.
  std::optional<uint16_t> Memory(uint64_t bus, uint64_t bytes, int file) {
    Request request = Next(Kind::kMemory);
    request.bus = request.area_bus = bus;
    request.bytes = bytes;
    request.area_bytes = uint64_t{1} << 30;
    Send(request, file);
    return Hear();
  }
  std::optional<uint16_t> Map(Kind kind, uint64_t bus, uint64_t bytes, int file,
                              std::string_view name = {}) {
    Request request = Next(kind);
    request.bus = bus;
    request.bytes = bytes;
    SetText(request.name, name);
    Send(request, file);
    return Hear();
  }
  /// Makes the device send 64 bytes from `bus`, where its descriptors also are.
  void Transmit(uint64_t bus) {
    using namespace regs::ipu;  // NOLINT: most lines use these names
    bar::Bar registers(queue_, kIpuModel.bar_bytes);
    const uint32_t ring = QueuePage(0) + kTxBlock;
    registers.Write64(ring + kRingBase, bus);
    registers.Write32(ring + kRingEntries, kMinRing);
    registers.Write32(ring + kRingControl, kRingEnable);
    registers.Write32(ring + kRingTail, 8);
  }

 private:
  bar::PostedQueue* queue_ = nullptr;
  bar::RingMemory memory_;
  Channel channel_;
  uint32_t sequence_ = 0;
};

inline base::OwnedFd Memfd(size_t bytes, bool sealed, unsigned flags = 0) {
  base::OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  EXPECT_EQ(ftruncate(file.fd(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(file.fd(), F_ADD_SEALS, sealed ? F_SEAL_SHRINK : 0), 0);
  return file;
}

/// Returns a sealed file that cannot be mapped. If no huge page is free, the mapping fails late.
inline base::OwnedFd UnmappableMemfd() {
  constexpr size_t kHugePage = size_t{2} << 20;
  base::OwnedFd file = Memfd(size_t{1} << 44, true, MFD_HUGETLB | MFD_HUGE_2MB);
  void* const area = mmap(nullptr, kHugePage, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (area == MAP_FAILED) return file;
  munmap(area, kHugePage);
  file = Memfd(kHugePage, true);
  EXPECT_EQ(fcntl(file.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  return file;
}

}  // namespace sluice::emulator

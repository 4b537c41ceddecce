// SPDX-License-Identifier: BSD-3-Clause
//
// A host that derives its messages, files and register accesses from given bytes, and a server with
// a device that accesses all reachable memory. Used by a fuzzer and by a test.
#pragma once

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/channel.h"
#include "emulator/hosted_model.h"
#include "emulator/message.h"
#include "emulator/model.h"
#include "emulator/queue_memory.h"
#include "emulator/server.h"

namespace sluice::emulator::test {

/// One action of the host.
struct Deed {
  uint8_t kind;    ///< Kind of the request; 15: a register access instead.
  uint8_t file;    ///< Index of the file sent with the message.
  uint8_t bus;     ///< Low bits: index of a base address; high bits: offset in pages.
  uint8_t area;    ///< Encoded like `bus`.
  uint8_t bytes;   ///< Low bits: a power of two; high bits are added.
  uint8_t offset;  ///< Offset in the file, in pages.
  uint8_t lies;    ///< Selects wrong fields: see SendMessage.
  uint8_t after;   ///< Selects a change of the file afterwards: see Spoil.
};
static_assert(sizeof(Deed) == 8);

inline constexpr uint64_t kFuzzPage = 4096;
inline constexpr uint64_t kFuzzFileBytes = 16 * kFuzzPage;

inline uint64_t FuzzAddress(uint8_t choice) {
  constexpr std::array<uint64_t, 8> kBases = {0,
                                              uint64_t{1} << 33,
                                              uint64_t{1} << 34,
                                              uint64_t{3} << 33,
                                              (uint64_t{1} << 57) - kFuzzPage,
                                              ~uint64_t{4095},
                                              (uint64_t{1} << 33) + 1,
                                              (uint64_t{1} << 33) + (uint64_t{2} << 20)};
  return kBases[choice % 8] + (choice / 8) * kFuzzPage;
}

/// Reads and writes all reachable host pages, and handles the host's register accesses.
class TouchingModel final : public HostedModel {
 public:
  bool Connect(const SettingValues&, const bar::DmaSpace& dma, bar::PostedQueue* queue,
               std::string*) override {
    dma_ = &dma;
    queue_ = queue;
    return true;
  }
  void SetInterrupts(device::InterruptSink* sink) override {
    if (sink != nullptr) sink->Raise(0);
  }
  void SetMastering(bool) override {}
  void ChangeMemory(const std::function<void()>& change) override { change(); }
  void Disconnect(bool) override {
    dma_ = nullptr;
    queue_ = nullptr;
  }
  std::vector<Statistic> Statistics() override { return {{"model_touched", touched_}}; }
  bool WireUp() const override { return true; }
  void EnableWire(bool) override {}
  const std::array<uint8_t, 6>& mac() const override { return mac_; }

  void Touch() {
    if (dma_ == nullptr) return;
    queue_->Drain(
        64, [](bar::RegisterAccess) {}, [](bar::RegisterAccess access) { return access.offset; });
    for (uint32_t choice = 0; choice < 256; ++choice) {
      uint8_t* const page = dma_->Translate(FuzzAddress(static_cast<uint8_t>(choice)), 64);
      if (page == nullptr) continue;
      auto* const byte = const_cast<volatile uint8_t*>(page);
      *byte = static_cast<uint8_t>(*byte + 1);
      ++touched_;
    }
  }

 private:
  const bar::DmaSpace* dma_ = nullptr;
  bar::PostedQueue* queue_ = nullptr;
  uint64_t touched_ = 0;
  const std::array<uint8_t, 6> mac_ = {2, 0, 0, 0, 0, 1};
};

/// The server uses only the name and the settings.
inline constexpr ModelInfo kAnyModel{.name = "any",
                                     .title = "any NIC",
                                     .driver = "net_any",
                                     .bar_bytes = 4096,
                                     .settings = {},
                                     .make = nullptr};

class HostileMessages {
 public:
  explicit HostileMessages(std::string path) : path_(std::move(path)) {
    std::string error;
    server_ = Server::Create({path_, &kAnyModel, {}}, model_, &error);
    if (server_ == nullptr) std::abort();
  }

  /// Executes the bytes as actions, then checks that the server serves an honest host. Returns the
  /// violated property, or null.
  const char* Hear(const uint8_t* data, size_t bytes) {
    Host host(path_);
    if (!host.channel) return "the connection is refused";
    server_->Turn(-1, kAtOnce);
    for (; bytes >= sizeof(Deed); data += sizeof(Deed), bytes -= sizeof(Deed)) {
      Deed deed;
      std::memcpy(&deed, data, sizeof(deed));
      if (!Do(host, deed)) break;
    }
    host.channel = Channel();
    for (int turn = 0; turn < 8 && server_->host() != 0; ++turn) server_->Turn(-1, kAtOnce);
    if (server_->host() != 0) return "a host that is gone is still attached";
    return ServesAnHonestHost();
  }

  /// Returns the number of host pages that the device has read and written.
  uint64_t touched() { return model_.Statistics()[0].value; }

 private:
  static constexpr std::chrono::milliseconds kAtOnce{0};

  struct Host {
    explicit Host(const std::string& path) : memory(CreateQueue(&queue)) {
      std::string error;
      channel = Channel(Connect(path, {}, &error));
      files = {Memory(F_SEAL_SHRINK, 0),
               Memory(F_SEAL_SHRINK | F_SEAL_GROW, 0),
               Memory(0, 0),
               Memory(0, 0),
               Memory(F_SEAL_SHRINK, MFD_HUGETLB),
               base::OwnedFd(open("/dev/null", O_RDWR | O_CLOEXEC)),
               base::OwnedFd(open("/", O_RDONLY | O_CLOEXEC)),
               base::OwnedFd(eventfd(0, EFD_CLOEXEC)),
               base::OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
               base::OwnedFd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC))};
    }
    static base::OwnedFd Memory(int seals, unsigned flags) {
      base::OwnedFd file(memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
      const uint64_t bytes = flags != 0 ? uint64_t{1} << 40 : kFuzzFileBytes;
      if (ftruncate(file.fd(), static_cast<off_t>(bytes)) == 0) {
        fcntl(file.fd(), F_ADD_SEALS, seals);
      }
      return file;
    }
    int Chosen(uint8_t choice) const {
      const size_t index = choice % 16;
      if (index < files.size()) return files[index].fd();
      return index < 13 ? memory.fd() : -1;
    }

    bar::PostedQueue* queue = nullptr;
    bar::RingMemory memory;
    Channel channel;
    std::array<base::OwnedFd, 10> files;
    uint32_t sequence = 0;
  };

  /// Returns false if the connection has ended.
  bool Do(Host& host, const Deed& deed) {
    if (deed.kind % 16 == 15) {
      Access(host, deed);
    } else {
      SendMessage(host, deed);
    }
    server_->Turn(-1, kAtOnce);
    Spoil(host, deed);
    model_.Touch();
    server_->Turn(-1, kAtOnce);
    std::array<uint8_t, sizeof(Reply) + kMaxStatistics * sizeof(StatisticEntry)> reply;
    base::OwnedFd file;
    while (host.channel.Receive(reply.data(), reply.size(), &file, kAtOnce)) {
    }
    return server_->host() != 0 || host.sequence <= 1;
  }

  static void SendMessage(Host& host, const Deed& deed) {
    Request request;
    request.kind = static_cast<Kind>(deed.kind % 16);
    request.sequence = ++host.sequence;
    request.bus = FuzzAddress(deed.bus);
    request.area_bus = FuzzAddress(deed.area);
    request.bytes = (kFuzzPage << (deed.bytes % 32)) * (1 + deed.bytes / 32);
    request.area_bytes = request.bytes << (deed.lies >> 6);
    request.offset = deed.offset * (kFuzzPage / (deed.offset >= 128 ? 2 : 1));
    request.flags = deed.offset % 8;
    SetText(request.model, kAnyModel.name);
    if (request.kind == Kind::kHello) request.bytes = QueueBytes();
    if ((deed.area & 1) != 0) SetText(request.name, std::string(1 + deed.area % 30, 'n'));
    if ((deed.lies & 7) == 1) ++request.sequence;
    if ((deed.lies & 7) == 2) request.magic = 0;
    if ((deed.lies & 7) == 3) std::memset(request.name, deed.after, sizeof(request.name));
    if ((deed.lies & 7) == 4) request.bytes = deed.after * uint64_t{0x0101'0101'0101'0101};
    const size_t bytes = (deed.lies & 7) == 5 ? deed.after % sizeof(request) : sizeof(request);
    host.channel.Send(&request, bytes, host.Chosen(deed.file));
  }

  static void Access(Host& host, const Deed& deed) {
    if (host.queue->LinkUp() && deed.lies < 128) {
      host.queue->Post(uint32_t{deed.bus}, deed.bytes % 2 == 0 ? 4u : 8u, deed.after);
    } else {
      host.memory.data()[(deed.bus * 256u + deed.bytes) % host.memory.bytes()] = deed.after;
    }
  }

  static void Spoil(Host& host, const Deed& deed) {
    const int file = host.Chosen(deed.file);
    if (deed.after % 8 == 1 && ftruncate(file, 0) != 0) return;
    if (deed.after % 8 == 2) {
      fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kFuzzFileBytes);
    }
    if (deed.after % 8 == 3) fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK);
  }

  const char* ServesAnHonestHost() {
    std::string error;
    Channel honest(Connect(path_, {}, &error));
    if (!honest) return "the connection is refused";
    Request hello;
    hello.kind = Kind::kHello;
    hello.sequence = 1;
    hello.bytes = QueueBytes();
    SetText(hello.model, kAnyModel.name);
    honest.Send(&hello, sizeof(hello), honest_memory_.fd());
    for (int turn = 0; turn < 4; ++turn) server_->Turn(-1, kAtOnce);
    Reply reply;
    base::OwnedFd none;
    const auto bytes = honest.Receive(&reply, sizeof(reply), &none, kAtOnce);
    if (!bytes || reply.refused != 0) return "an honest host is not served";
    honest = Channel();
    server_->Turn(-1, kAtOnce);
    return server_->host() == 0 ? nullptr : "an honest host does not leave";
  }

  const std::string path_;
  TouchingModel model_;
  bar::PostedQueue* honest_queue_ = nullptr;
  const bar::RingMemory honest_memory_ = CreateQueue(&honest_queue_);
  std::unique_ptr<Server> server_;
};

}  // namespace sluice::emulator::test

// SPDX-License-Identifier: BSD-3-Clause
//
// A client that executes arbitrary actions (deeds.h). Afterwards, the device must still serve an
// honest client.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.h"
#include "deeds.h"
#include "emulator/ipu_model.h"
#include "emulator/vfio_user/bus_server.h"
#include "plain_model.h"

namespace sluice::emulator::vfio_user::test {

class HostileClient {
 public:
  explicit HostileClient(std::string path) : path_(std::move(path)) {
    std::string error;
    server_ = BusServer::Create(path_, kIpuModel, settings_, model_, &error);
    if (server_ == nullptr) std::abort();
  }

  /// Executes the actions as a client. If `greets` is true, the client first negotiates the
  /// version. Returns the violated invariant, or null.
  const char* RunActions(const uint8_t* data, size_t bytes, bool greets) {
    Client client(path_);
    if (client.fd() < 0) return "the connection is refused";
    Turns(1);
    if (greets) {
      client.Send(MakeMessage(Command::kVersion, VersionPayload()));
      Turns(1);
    }
    while (bytes >= kActionBytes) {
      Action action;
      std::memcpy(&action, data, kActionBytes);
      data += kActionBytes;
      bytes -= kActionBytes;
      const size_t length = std::min<size_t>(action.payload, bytes);
      if (!Do(client, action, {data, length})) break;
      data += length;
      bytes -= length;
    }
    client.Disconnect();
    for (int turn = 0; turn < 64 && !server_->Attached().empty(); ++turn) Turns(1);
    Turns(2);
    if (!server_->Attached().empty()) return "a client that is gone is still attached";
    return ServesAnHonestClient();
  }

 private:
  static constexpr size_t kFileBytes = 64 * 1024;

  void Turns(int count) {
    for (int i = 0; i < count; ++i) server_->Turn(-1, std::chrono::milliseconds(0));
  }

  static base::OwnedFd FileOf(uint8_t choice) {
    switch (choice % 8) {
      case 1: {
        base::OwnedFd file(memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        return ftruncate(file.fd(), kFileBytes) == 0 ? std::move(file) : base::OwnedFd();
      }
      case 2:
        return base::OwnedFd(eventfd(0, EFD_CLOEXEC));
      case 3:
        return base::OwnedFd(open("/dev/null", O_RDWR | O_CLOEXEC));
      case 4:
        return base::OwnedFd(memfd_create("empty", MFD_CLOEXEC));
      case 5: {
        const base::OwnedFd full(eventfd(0, EFD_CLOEXEC));
        eventfd_write(full.fd(), 0xffff'ffff'ffff'fffe);
        return base::OwnedFd(dup(full.fd()));
      }
      default:
        return {};
    }
  }

  bool Do(Client& client, const Action& action, std::span<const uint8_t> payload) {
    Bytes message =
        MakeMessage(static_cast<Command>(action.command), payload, 7, action.flags & 0x3f);
    Header header;
    std::memcpy(&header, message.data(), sizeof(header));
    header.size += static_cast<uint32_t>(static_cast<int8_t>(action.lie));
    std::memcpy(message.data(), &header, sizeof(header));
    const base::OwnedFd file = FileOf(action.file);
    std::vector<int> files;
    if (file) files.assign(action.file / 64 + 1u, file.fd());
    // The message may be sent only partially, because the client does not read the device's
    // messages.
    const bool sent = client.Send(message, files);
    if (action.after != 3) Turns(1);
    if (action.after == 1 && ftruncate(file.fd(), 0) != 0) return sent;
    if (action.after == 2)
      fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192);
    Turns(1);
    return sent;
  }

  const char* ServesAnHonestClient() {
    Client client(path_);
    client.Send(MakeMessage(Command::kVersion, VersionPayload()));
    client.Send(MakeMessage(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0}), 2));
    Turns(4);
    if (client.Receive().header.id != 1) return "an honest client is not greeted";
    if (client.Receive().payload != Join(DeviceInfo{16, 3, 9, 5})) {
      return "an honest client is not served";
    }
    client.Disconnect();
    Turns(2);
    return nullptr;
  }

  const std::string path_;
  const SettingValues settings_{};
  PlainModel model_{kIpuModel};
  std::unique_ptr<BusServer> server_;
};

}  // namespace sluice::emulator::vfio_user::test

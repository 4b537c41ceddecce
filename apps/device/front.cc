// SPDX-License-Identifier: BSD-3-Clause
#include "front.h"

#include "emulator/model.h"
#include "emulator/server.h"
#include "emulator/vfio_user/bus_server.h"

namespace sluice::device_app {

std::unique_ptr<emulator::Front> MakeFront(const Flags& flags, emulator::HostedModel& model,
                                           std::string* error) {
  std::unique_ptr<emulator::Front> front;
  if (flags.vfio_user.empty()) {
    front = emulator::Server::Create(flags.server, model, error);
  } else {
    front = emulator::vfio_user::BusServer::Create(flags.vfio_user, *flags.server.model,
                                                   flags.server.settings, model, error,
                                                   flags.interrupts);
  }
  if (front == nullptr) {
    const char* const flag = flags.vfio_user.empty() ? "--socket=" : "--vfio_user=";
    error->insert(0, flag + SocketOf(flags) + ": ");
  }
  return front;
}

const std::string& SocketOf(const Flags& flags) {
  return flags.vfio_user.empty() ? flags.server.path : flags.vfio_user;
}

std::string Hint(const Flags& flags) {
  if (!flags.vfio_user.empty()) {
    return R"(plug it into QEMU with -device '{"driver":"vfio-user-pci","socket":{"path":")" +
           flags.vfio_user + R"(","type":"unix"}}')";
  }
  return "attach a host with --vdev=" + std::string(flags.server.model->driver) +
         "0,device=" + flags.server.path;
}

}  // namespace sluice::device_app

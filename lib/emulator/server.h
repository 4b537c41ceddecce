// SPDX-License-Identifier: BSD-3-Clause
//
// The device side of a model whose host is in another process (remote.h is the host side). It
// listens, serves one host at a time, and resets the device to its power-on state for the next
// host.
//
// The wire with its verification, and all counters, survive every host. Memory that a host mapped
// under a name survives the host and a reset until the memory is unmapped, another host maps other
// memory under that name, or there are too many names. A host's registers, rings and all other
// state end with its connection.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bar/dma.h"
#include "bar/ring_memory.h"
#include "emulator/channel.h"
#include "emulator/front.h"
#include "emulator/guarded_range.h"
#include "emulator/host_mappings.h"
#include "emulator/hosted_model.h"
#include "emulator/interrupt_socket.h"
#include "emulator/listener.h"
#include "emulator/message.h"

namespace sluice::emulator {

/// Memory to which hosts have given names. The memory outlives its host until it is unmapped. Used
/// by one thread.
class NamedMemory {
 public:
  struct Entry {
    base::OwnedFd file;
    uint64_t bytes = 0;
    bool mirrored = false;
    uint64_t bus = 0;    ///< Bus address in the attached host; 0: not mapped.
    uint64_t order = 0;  ///< Increases with each Keep.
  };
  static constexpr size_t kMaxNames = 64;

  /// Returns null, or the reason why the attached host may not use that name.
  const char* WhyNot(std::string_view name) const;
  /// Stores the memory and replaces any other memory with that name. WhyNot must have returned
  /// null. If the table is full, the oldest entry that the attached host does not use is removed,
  /// so that earlier hosts cannot exhaust the names.
  void Keep(std::string_view name, Entry entry);
  /// Returns null if the name is unknown.
  const Entry* Find(std::string_view name) const;
  void Forget(std::string_view name);
  /// Called when the attached host is gone.
  void Detach();

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  uint64_t latest_ = 0;
};

struct ServerOptions {
  std::string path;                  ///< Path of the socket.
  const ModelInfo* model = nullptr;  ///< Must not be null and must outlive the server.
  /// The host must use each of these values that is not 0, and can choose the others.
  SettingValues settings{};
};

/// Serves a model to hosts through a socket. Used by one thread.
class Server final : public Front {
 public:
  /// Starts listening. `model` must outlive the server. On failure, returns null and sets `error`.
  static std::unique_ptr<Server> Create(ServerOptions options, HostedModel& model,
                                        std::string* error);
  /// Disconnects the host and removes the socket if it still belongs to this server.
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool Turn(int wake, std::chrono::milliseconds patience) override;
  /// Performs a hot reset of the host link: the connection ends, and the device returns to its
  /// power-on state; named memory remains. The host connects again automatically.
  void Reset() override;

  /// Returns the attached host's process id, or 0.
  pid_t host() const { return host_ != nullptr ? host_->pid : 0; }
  const std::string& host_name() const { return host_name_; }  ///< Vdev name of the newest host.
  std::string Attached() const override;
  uint64_t hosts() const override { return hosts_; }

 private:
  /// A connected process, which becomes a host after kHello.
  struct Visitor {
    Channel channel;
    pid_t pid = 0;
    std::chrono::steady_clock::time_point deadline;  ///< Deadline for kHello.
  };
  struct Host : Visitor {
    uint32_t sequence = 1;  ///< Sequence number of the last request.
    LossAlarm alarm;        ///< Triggered when shared memory of the host is lost.
    bar::RingMemory queue_memory;
    GuardedRange queue_guard;
    InterruptSocket interrupts;
    std::unique_ptr<bar::DmaSpace> dma = std::make_unique<bar::DmaSpace>();
    HostMappings mappings{*dma, alarm};
  };

  Server(ServerOptions options, HostedModel& model, std::unique_ptr<Listener> listener);

  void Accept();
  /// Reads the newcomer's hello. The newcomer then becomes a host or is disconnected.
  void Greet();
  /// Reads and answers one request from the host.
  void Answer();
  /// Calls `step`, which must be Accept, Greet or Answer. If memory is exhausted, disconnects the
  /// newcomer and the host.
  void Attempt(void (Server::*step)());
  /// Disconnects the host, even if memory for the log message cannot be allocated. An empty reason
  /// means that the host has closed the connection.
  void EndLink(std::string_view reason);
  /// Disconnects a host to which an answer could not be sent, because the host is gone or is not
  /// reading.
  void EndDeaf();

  /// These functions fill in `reply` and return null, or return a one-line reason for the
  /// rejection.
  const char* Admit(const Request& hello, base::OwnedFd queue, std::string* refusal, Reply* reply);
  const char* Handle(const Request& request, base::OwnedFd file, Reply* reply);
  const char* Map(const Request& request, std::string_view name, base::OwnedFd file);
  const char* Unmap(const Request& request, std::string_view name);
  const char* AcceptInterruptSocket(base::OwnedFd socket);

  const ServerOptions options_;
  HostedModel& model_;
  const std::unique_ptr<Listener> listener_;
  std::unique_ptr<Visitor> newcomer_;
  std::unique_ptr<Host> host_;
  NamedMemory names_;
  std::string host_name_;
  uint64_t hosts_ = 0;
};

}  // namespace sluice::emulator

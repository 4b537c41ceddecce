// SPDX-License-Identifier: BSD-3-Clause
//
// The device's side of a model in another process than its host (remote.h is the other):
// listens, serves one host at a time, and sees to it that the next one finds the device
// as it is after power-on.
//
// What survives what: the wire with its verification, and all counters, survive every
// host; memory that a host mapped under a name survives the host, and a reset, until it
// is unmapped, another host maps other memory under that name, or there are too many such
// names. Registers, rings and
// everything else that a host set up end with its connection.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
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
#include "emulator/named_memory.h"

namespace sluice::emulator {

struct ServerOptions {
  std::string path;                  ///< Of the socket.
  const ModelInfo* model = nullptr;  ///< Not null when the server is created; outlives it.
  /// Those that are not 0 bind the host; for the others the host chooses.
  SettingValues settings{};
};

/// Used by one thread.
class Server final : public Front {
 public:
  /// Listens. `model` outlives the server. Null, with the reason in `error`, if it cannot.
  static std::unique_ptr<Server> Create(ServerOptions options, HostedModel& model,
                                        std::string* error);
  /// Disconnects the host and removes the socket if it is this server's.
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  bool Turn(int wake, std::chrono::milliseconds patience) override;
  /// A hot reset of the host link: the connection ends, the device is in its power-on
  /// state; named memory stays. The host connects again by itself.
  void Reset() override;

  /// The attached host's process; 0: none.
  pid_t host() const { return host_ != nullptr ? host_->pid : 0; }
  const std::string& host_name() const { return host_name_; }  ///< Of the newest host's vdev.
  std::string Attached() const override;
  uint64_t hosts() const override { return hosts_; }

 private:
  /// Somebody connected; a host from kHello on.
  struct Visitor {
    Channel channel;
    pid_t pid = 0;
    std::chrono::steady_clock::time_point deadline;  ///< For kHello.
  };
  struct Host : Visitor {
    uint32_t sequence = 1;  ///< Of the last request.
    LossAlarm alarm;        ///< Rings when memory of the host is gone that it shares.
    bar::RingMemory queue_memory;
    GuardedRange queue_guard;
    InterruptSocket interrupts;
    std::unique_ptr<bar::DmaSpace> dma = std::make_unique<bar::DmaSpace>();
    HostMappings mappings{*dma, alarm};
  };

  Server(ServerOptions options, HostedModel& model, std::unique_ptr<Listener> listener);

  void Accept();
  /// Reads what the newcomer says; it is a host then, or gone.
  void Greet();
  /// Reads and answers one request of the host.
  void Answer();
  /// Calls one of these. Where this process has no room for what the peer asks, the peer is
  /// disconnected.
  void Attempt(void (Server::*step)());
  /// Disconnects the host; needs no memory. An empty reason: it is gone by itself.
  void EndLink(std::string_view reason);
  /// The host did not take an answer: it is gone by itself, or does not read.
  void EndDeaf();

  /// Each fills `reply` and returns null, or says in one line why it refuses.
  const char* Admit(const Request& hello, File queue, std::string* refusal, Reply* reply);
  const char* Handle(const Request& request, File file, Reply* reply);
  const char* Map(const Request& request, std::string_view name, File file);
  const char* Unmap(const Request& request, std::string_view name);
  const char* TakeInterrupts(File socket);

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

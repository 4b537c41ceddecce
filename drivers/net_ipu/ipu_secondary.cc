// SPDX-License-Identifier: BSD-3-Clause
#include "net_ipu/ipu_secondary.h"

#include <rte_eal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "bar/posted_queue.h"
#include "bar/ring_memory.h"
#include "net_ipu/ipu_adapter.h"
#include "net_ipu/ipu_guests.h"
#include "secondary.h"

namespace sluice::net_ipu {
namespace {

constexpr const char* kRegistersChannel = "net_ipu_registers";

/// Reply to a request that names a port: the location of the port's registers in the attached file.
struct Registers {
  int32_t error;  ///< Negative errno: −ENOTSUP for a wrapping port; −EAGAIN means retry.
  uint32_t guest;
  uint64_t address;
  uint64_t bytes;
};

// ------------------------------------------------------------------- primary

/// Guest numbers, by the socket path of the secondary process. Used only by EAL's message thread.
Guests guests;

/// Returns whether a process listens on the socket; a killed process does not remove its socket.
bool Listens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  const bool listens =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(probe);
  return listens;
}

Registers Offer(const rte_mp_msg& message, const char* peer, int* file) {
  char name[RTE_ETH_NAME_MAX_LEN] = {};
  if (message.len_param != sizeof(name)) return {-EINVAL, 0, 0, 0};
  std::memcpy(name, message.param, sizeof(name) - 1);
  const std::unique_lock lock(drivers::AnswerMutex(), std::try_to_lock);
  if (!lock) return {-EAGAIN, 0, 0, 0};
  const rte_eth_dev* const dev = rte_eth_dev_allocated(name);
  if (dev == nullptr || dev->data->dev_private == nullptr) return {-ENODEV, 0, 0, 0};
  if (dev->dev_ops != &kEthdevOps) return {-ENOTSUP, 0, 0, 0};
  const uint32_t guest = guests.NumberOf(peer, Listens);
  if (guest == Guests::kMost) return {-EUSERS, 0, 0, 0};
  const bar::RingMemory& memory = AdapterOf(dev).attachment->register_memory();
  *file = memory.fd();
  return {0, guest, reinterpret_cast<uint64_t>(memory.data()), memory.bytes()};
}

int OnRequest(const rte_mp_msg* message, const void* peer) {
  for (int i = 0; i < message->num_fds; ++i) close(message->fds[i]);
  rte_mp_msg reply{};
  std::snprintf(reply.name, sizeof(reply.name), "%s", message->name);
  int file = -1;
  const Registers registers = Offer(*message, static_cast<const char*>(peer), &file);
  reply.len_param = sizeof(registers);
  std::memcpy(reply.param, &registers, sizeof(registers));
  reply.fds[0] = file;
  reply.num_fds = file >= 0 ? 1 : 0;
  return rte_mp_reply(&reply, static_cast<const char*>(peer));
}

// ----------------------------------------------------------------- secondary

/// This process's mapping of a port's registers, which threads may use until the port is closed,
/// and the value of Adapter::starts for which the port's burst functions were chosen.
struct Local {
  bar::RingMemory* registers = nullptr;
  std::atomic<uint32_t> starts{0};
};
std::array<Local, RTE_MAX_ETHPORTS> locals;

/// Requests the registers of the port `name`. The caller owns `*file`, if there is one.
Registers RequestOnce(const char* name, int* file) {
  rte_mp_msg request{};
  std::snprintf(request.name, sizeof(request.name), "%s", kRegistersChannel);
  request.len_param = RTE_ETH_NAME_MAX_LEN;
  std::snprintf(reinterpret_cast<char*>(request.param), RTE_ETH_NAME_MAX_LEN, "%s", name);
  struct rte_mp_reply replies {};  // `rte_mp_reply` is also a function.
  const timespec patience = {5, 0};
  Registers registers{-EIO, 0, 0, 0};
  if (rte_mp_request_sync(&request, &replies, &patience) != 0) return registers;
  if (replies.nb_received == 1) {
    const rte_mp_msg& reply = replies.msgs[0];
    if (reply.len_param == sizeof(registers)) {
      std::memcpy(&registers, reply.param, sizeof(registers));
    }
    if (reply.num_fds == 1) *file = reply.fds[0];
  }
  std::free(replies.msgs);
  return registers;
}

/// Maps the registers. Returns null, or the reason why this process cannot use the port's queues.
const char* MapRegisters(const char* name, bar::RingMemory* memory) {
  constexpr int kTries = 100;
  int file = -1;
  Registers registers = RequestOnce(name, &file);
  for (int i = 1; i < kTries && registers.error == -EAGAIN; ++i) {
    usleep(10'000);
    registers = RequestOnce(name, &file);
  }
  if (registers.error == -ENOTSUP) return "the port wraps another port: poll that port";
  if (registers.error == -EUSERS)
    return "the maximum of 15 secondary processes already use this port";
  if (registers.error != 0 || file < 0)
    return "the primary process does not share the device's registers";
  *memory = bar::RingMemory::FromFile(file, registers.bytes, false,
                                      reinterpret_cast<void*>(registers.address));
  if (!*memory) {
    Log(RTE_LOG_ERR,
        "%s: this process uses the address 0x%" PRIx64
        ", at which the device's registers must be mapped",
        name, registers.address);
    return "this process cannot map the device's registers";
  }
  if (!bar::PostedQueue::BecomeGuest(registers.guest)) {
    return "this process uses the registers of another primary process";
  }
  return nullptr;
}
static_assert(Guests::kMost == 15, "the message above contains the limit 15");

/// Returns the port, with the burst functions for its current configuration; the primary process
/// may change this configuration while the port is stopped. Threads that detect a change
/// concurrently all choose the same functions.
rte_eth_dev* Current(uint16_t port) {
  rte_eth_dev* const dev = &rte_eth_devices[port];
  std::atomic<uint32_t>& chosen = locals[port].starts;
  const uint32_t starts = AdapterOf(dev).starts.load(std::memory_order_acquire);
  if (chosen.load(std::memory_order_acquire) != starts) [[unlikely]] {
    ChooseBursts(dev);
    chosen.store(starts, std::memory_order_release);
  }
  return dev;
}

/// Null queue pointers for a port that had no queues when this process attached.
std::array<void*, RTE_MAX_QUEUES_PER_PORT> no_queues{};

/// A null queue means that the port has no queue of that number.
uint16_t GuestRxBurst(void* queue, rte_mbuf** packets, uint16_t count) {
  if (queue == nullptr) return 0;
  return Current(static_cast<RxQueue*>(queue)->port_id)->rx_pkt_burst(queue, packets, count);
}
uint16_t GuestTxBurst(void* queue, rte_mbuf** packets, uint16_t count) {
  if (queue == nullptr) return 0;
  return Current(static_cast<TxQueue*>(queue)->port_id)->tx_pkt_burst(queue, packets, count);
}
uint16_t GuestTxPrepare(void* queue, rte_mbuf** packets, uint16_t count) {
  if (queue == nullptr) return 0;
  const auto prepare = Current(static_cast<TxQueue*>(queue)->port_id)->tx_pkt_prepare;
  return prepare != nullptr ? prepare(queue, packets, count) : count;
}

int CloseGuest(rte_eth_dev* dev) {
  Local& local = locals[dev->data->port_id];
  delete std::exchange(local.registers, nullptr);
  local.starts = 0;
  return 0;
}

/// Returns the operations that access only rings and the port's shared state.
eth_dev_ops MakeGuestOps() {
  eth_dev_ops ops = drivers::SecondaryOps();
  ops.dev_close = CloseGuest;
  ops.dev_supported_ptypes_get = kEthdevOps.dev_supported_ptypes_get;
  ops.rxq_info_get = kEthdevOps.rxq_info_get;
  ops.txq_info_get = kEthdevOps.txq_info_get;
  ops.rx_burst_mode_get = [](rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode) {
    return kEthdevOps.rx_burst_mode_get(Current(dev->data->port_id), queue, mode);
  };
  ops.tx_burst_mode_get = [](rte_eth_dev* dev, uint16_t queue, rte_eth_burst_mode* mode) {
    return kEthdevOps.tx_burst_mode_get(Current(dev->data->port_id), queue, mode);
  };
  ops.tx_done_cleanup = kEthdevOps.tx_done_cleanup;
  ops.rss_hash_conf_get = kEthdevOps.rss_hash_conf_get;
  ops.reta_query = kEthdevOps.reta_query;
  return ops;
}

const eth_dev_ops& OpsOfSpectator() {
  static const eth_dev_ops ops = drivers::SecondaryOps();
  return ops;
}
const eth_dev_ops& OpsOfGuest() {
  static const eth_dev_ops ops = MakeGuestOps();
  return ops;
}

/// Attaches to the primary's port. If `refusal` is null, the burst functions use `registers`;
/// otherwise they only log `refusal` once. Returns 0 or a negative errno.
int Attach(rte_device* device, const char* name, const char* refusal, bar::RingMemory registers) {
  const eth_dev_ops& ops = refusal == nullptr ? OpsOfGuest() : OpsOfSpectator();
  rte_eth_dev* const dev = drivers::AttachSecondary(kSecondaryChannel, name, device, &ops, refusal);
  if (dev == nullptr) return -ENODEV;
  if (refusal == nullptr) {
    locals[dev->data->port_id].registers = new bar::RingMemory(std::move(registers));
    SetRingOps(dev);
    dev->rx_pkt_burst = GuestRxBurst;
    dev->tx_pkt_burst = GuestTxBurst;
    dev->tx_pkt_prepare = GuestTxPrepare;
  }
  drivers::FinishSecondary(dev);
  if (refusal != nullptr) return 0;
  auto& calls = rte_eth_fp_ops[dev->data->port_id];
  if (calls.rxq.data == nullptr) calls.rxq.data = no_queues.data();
  if (calls.txq.data == nullptr) calls.txq.data = no_queues.data();
  // From here on, ethdev's function pointers do not change; the burst functions that they call may.
  ChooseBursts(dev);
  return 0;
}

}  // namespace

void ServeSecondaries() {
  drivers::AnswerSecondaries(kSecondaryChannel);
  // Neither registration has an effect if it has been made before or if there are no secondary
  // processes.
  rte_mp_action_register(kRegistersChannel, OnRequest);
}

int ProbeSecondary(rte_vdev_device* vdev) {
  bar::RingMemory registers;
  const char* const name = rte_vdev_device_name(vdev);
  const char* const refusal = MapRegisters(name, &registers);
  return Attach(&vdev->device, name, refusal, std::move(registers));
}

int ProbeSecondary(rte_pci_device* device) {
  return Attach(&device->device, device->device.name, nullptr, {});
}

}  // namespace sluice::net_ipu

// SPDX-License-Identifier: BSD-3-Clause
//
// How a driver obtains a device model: the same {registers, memory} pair that
// probing a PCI device yields. Of lib/emulator a driver may include this header and
// the one that names its model; nothing in them says how the model works.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bar/bar.h"
#include "bar/ring_memory.h"

namespace sluice::emulator {

struct ModelInfo;  ///< Of a model: kEnsoModel, kIpuModel.

/// What the hardware's own management tool would set, in the order of ModelInfo::settings; 0: the
/// model's default, or, with a device in another process, as that one has it.
inline constexpr size_t kMaxModelSettings = 4;
using SettingValues = std::array<uint32_t, kMaxModelSettings>;

/// A device argument that the driver passes through untouched.
using Argument = std::pair<std::string, std::string>;

/// Device-argument keys that Attach understands, for the driver's own list of
/// valid keys: wire, on, device_cpu, seed, faults, verify, pause, and device=<socket> for a
/// model in another process (sluice-device), which has the other keys itself; with it,
/// device_uid=<user> trusts that user's process, besides this user's and root's.
std::span<const char* const> ArgumentKeys();

/// One line of statistics of the model and its wire.
struct Statistic {
  std::string name;  ///< "model_…" for the device, "wire_…" for what stands behind it.
  uint64_t value;
};

/// A running model: its thread (or service lcore) steps it until destruction.
class Attachment {
 public:
  virtual ~Attachment() = default;

  virtual bar::Bar& registers() = 0;
  /// What is behind registers(), in a process that maps its file at the same address, too, and has
  /// become a guest of bar::PostedQueue: a copy of registers() works there. The attachment's.
  virtual const bar::RingMemory& register_memory() const = 0;
  /// Makes a ring's memory reachable for the device until Unmap. All of DPDK's own
  /// memory is reachable already, but not what an application has registered with
  /// rte_extmem_register: that is for MapExternal. BusOf tells the device's address. With a `name`
  /// (unique per NIC, ≤ 31 characters) a device in another process holds the memory beyond the life
  /// of this one, until Unmap; see Adopt. Control path, any thread; bounded wait. False: no room,
  /// or the device is gone.
  virtual bool Map(const bar::RingMemory& memory, std::string_view name = {}) = 0;
  virtual void Unmap(const bar::RingMemory& memory) = 0;
  /// Makes [begin, begin + bytes) of the application's memory, in whole pages, reachable at its
  /// virtual address until UnmapExternal of the same range. A device in another process reaches
  /// shared mappings of files in memory alone, of which this process has a descriptor open or may
  /// open what /proc/self/map_files says. 0, also where that range is mapped already, or a negative
  /// errno with one line in `error`. Control path, any thread.
  virtual int MapExternal(void* begin, size_t bytes, std::string* error) = 0;
  /// The device has stopped using it. 0, or -EINVAL: no such range was mapped.
  virtual int UnmapExternal(void* begin, size_t bytes) = 0;
  /// Memory of `bytes` (whole huge pages) of zeroes, in which device and process are to meet, for
  /// Map; it is given back after Unmap. Empty: there is none.
  virtual bar::RingMemory Allocate(size_t bytes) {
    return bar::RingMemory::Create(bytes, false, bar::RingMemory::Pages::kPreferHuge);
  }
  /// The device's address of mapped memory.
  virtual uint64_t BusOf(const bar::RingMemory& memory) const {
    return reinterpret_cast<uint64_t>(memory.data());
  }
  /// Memory that an earlier process mapped under `name` and did not unmap, mapped here
  /// now: the caller owns it and calls Map with it. Empty: there is none, as always where
  /// the model lives in this process.
  virtual bar::RingMemory Adopt(std::string_view name) = 0;

  /// Counts the device's power-on states that this process saw: 1 at first, one more
  /// each time a device in another process came back after its death or a reset. All
  /// registers are then at power-on values; mapped memory is reachable again. Any thread,
  /// cheap. registers().LinkUp() is false in between.
  virtual uint32_t Generation() const = 0;

  /// A non-blocking eventfd that is written to when the device raises an interrupt of this number
  /// (regs/vectors.h); the attachment's. kPortVector also tells that the device is gone or back,
  /// and that the carrier changed.
  /// Control path, any thread. -1 with errno: EINVAL, no such number; EMFILE and its like, no
  /// descriptor is left; ENOTSUP, the device's bus passes none on.
  virtual int InterruptFd(uint32_t vector) = 0;

  /// Snapshot of all counters; control path, any thread, bounded wait. The names
  /// and their order do not change during the life of the attachment. A device in another
  /// process that is gone has its last values; what its successor counts is added to them.
  virtual std::vector<Statistic> Statistics() = 0;
  /// The wire's carrier: follows injected link faults.
  virtual bool WireUp() = 0;
  /// Address that the wire side would use for this NIC, for the driver to adopt.
  virtual void MacAddress(uint8_t mac[6]) = 0;
  /// Starts and stops the wire's traffic sources; a NIC begins with them stopped
  /// and its driver starts them with the port. Returns when it has taken effect.
  virtual void EnableWire(bool enabled) = 0;
};

/// Creates a model and starts it. `name` is the vdev's name (unique per process).
/// On bad arguments returns null and sets `error` to one line that names the
/// argument and the fix.
std::unique_ptr<Attachment> Attach(std::string_view name, const ModelInfo& model,
                                   const SettingValues& settings,
                                   std::span<const Argument> arguments, std::string* error);

}  // namespace sluice::emulator

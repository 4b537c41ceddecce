// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's interface to a device model: the same {registers, memory} pair that probing a PCI
// device returns. A driver may include only this header and the one that declares its model from
// lib/emulator; neither exposes how the model works.
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

struct ModelInfo;  ///< Describes a model: kEnsoModel, kIpuModel.

/// Values of the settings that the hardware's management tool controls, in the order of
/// ModelInfo::settings. 0 selects the model's default or, for a device in another process, that
/// device's value.
inline constexpr size_t kMaxModelSettings = 4;
using SettingValues = std::array<uint32_t, kMaxModelSettings>;

/// A device argument that the driver passes on unchanged.
using Argument = std::pair<std::string, std::string>;

/// Returns the device-argument keys that Attach accepts, for the driver's list of valid keys: wire,
/// on, device_cpu, seed, faults, verify, pause, and device=<socket> for a model in another process
/// (sluice-device). With device=, the other keys are given to that process, and device_uid=<user>
/// trusts a process of that user in addition to this user's and root's.
std::span<const char* const> ArgumentKeys();

/// One counter of the model or its wire.
struct Statistic {
  std::string name;  ///< "model_…" for the device, "wire_…" for its wire.
  uint64_t value;
};

/// A running model. Its thread, a service lcore or the application's workers step it until
/// destruction.
class Attachment {
 public:
  virtual ~Attachment() = default;

  virtual bar::Bar& registers() = 0;
  /// Returns the memory of registers(). The attachment owns it. A process that maps its file at the
  /// same address and becomes a guest of bar::PostedQueue can use a copy of registers().
  virtual const bar::RingMemory& register_memory() const = 0;
  /// Makes a ring's memory reachable for the device until Unmap; BusOf returns the device's
  /// address. All of DPDK's memory is already reachable, except memory that an application has
  /// registered with rte_extmem_register, which needs MapExternal. `name` is empty, or unique per
  /// NIC and at most 31 characters long. Memory with a name outlives this process: a device in
  /// another process keeps it until Unmap (see Adopt). Returns false if the device has no room or
  /// is gone. Any thread may call it on the control path; it waits for a bounded time.
  virtual bool Map(const bar::RingMemory& memory, std::string_view name = {}) = 0;
  virtual void Unmap(const bar::RingMemory& memory) = 0;
  /// Makes [begin, begin + bytes) of the application's memory, in whole pages, reachable at its
  /// virtual address until UnmapExternal of the same range. A device in another process can reach
  /// only shared mappings of memory files that this process has open or may open through
  /// /proc/self/map_files. Returns 0, also if the range is already mapped, or a negative errno with
  /// one line in `error`. Any thread may call it on the control path.
  virtual int MapExternal(void* begin, size_t bytes, std::string* error) = 0;
  /// Unmaps the range, which the device must have stopped using. Returns 0, or -EINVAL if the range
  /// is not mapped.
  virtual int UnmapExternal(void* begin, size_t bytes) = 0;
  /// Allocates `bytes` of zeroed memory (whole huge pages) that the device and this process will
  /// share through Map. Unmap frees it. Returns empty memory on failure.
  virtual bar::RingMemory Allocate(size_t bytes) {
    return bar::RingMemory::Create(bytes, false, bar::RingMemory::Pages::kPreferHuge);
  }
  /// Returns the device's address of mapped memory.
  virtual uint64_t BusOf(const bar::RingMemory& memory) const {
    return reinterpret_cast<uint64_t>(memory.data());
  }
  /// Maps and returns memory that an earlier process mapped under `name` and did not unmap. The
  /// caller owns it and must call Map with it. Returns empty memory if the name is unknown, which
  /// is always the case for a model in this process.
  virtual bar::RingMemory Adopt(std::string_view name) = 0;

  /// Returns how many times this process has seen the device in its power-on state: initially 1,
  /// and one more each time a device in another process returns after its death or a reset. All
  /// registers then have their power-on values, and mapped memory is reachable again.
  /// registers().LinkUp() is false in between. May be called by any thread; cheap.
  virtual uint32_t Generation() const = 0;

  /// Returns a non-blocking eventfd that is written when the device raises an interrupt of this
  /// number (regs/vectors.h). The attachment owns it. kPortVector also signals that the device is
  /// gone or back and that the carrier changed. Any thread may call it on the control path. Returns
  /// -1 with errno EINVAL (no such number), EMFILE or similar (no free descriptor), or ENOTSUP (the
  /// device's bus does not forward interrupts).
  virtual int InterruptFd(uint32_t vector) = 0;

  /// Returns a snapshot of all counters. The names and their order are constant. For a lost device
  /// in another process, the last values are returned; the counts of its successor are added to
  /// them. Any thread may call it on the control path; it waits for a bounded time.
  virtual std::vector<Statistic> Statistics() = 0;
  /// Returns the wire's carrier, including injected link faults; false while a device in another
  /// process is gone.
  virtual bool WireUp() = 0;
  /// Returns the address that the wire uses for this NIC; the driver should adopt it.
  virtual void MacAddress(uint8_t mac[6]) = 0;
  /// Starts or stops the wire's traffic sources, which are initially stopped; the driver starts
  /// them with the port. Returns when the change is in force, or after a bounded wait; if the wait
  /// ends first, the change is made when the device runs again.
  virtual void EnableWire(bool enabled) = 0;
};

/// Creates and starts a model. `name` is the vdev's name (unique per process). If an argument is
/// wrong, returns null and sets `error` to one line that names the argument and the fix.
std::unique_ptr<Attachment> Attach(std::string_view name, const ModelInfo& model,
                                   const SettingValues& settings,
                                   std::span<const Argument> arguments, std::string* error);

}  // namespace sluice::emulator

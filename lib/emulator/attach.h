// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's interface to a device model: the same {registers, memory} pair that probing a PCI
// device returns. From lib/emulator, a driver may include only this header and the one that
// declares its model; neither exposes how the model works.
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

struct ModelInfo;  ///< Describes a model, such as kEnsoModel or kIpuModel.

/// Values of the settings that the hardware's management tool controls, in the order of
/// ModelInfo::settings. 0 selects the model's default or, if the device is in another process, that
/// device's value.
inline constexpr size_t kMaxModelSettings = 4;
using SettingValues = std::array<uint32_t, kMaxModelSettings>;

/// A device argument that the driver passes through unchanged.
using Argument = std::pair<std::string, std::string>;

/// Returns the device-argument keys that Attach accepts, for the driver's list of valid keys: wire,
/// on, device_cpu, seed, faults, verify, pause, and device=<socket> for a model in another process
/// (sluice-device). With device=, the other keys are given to that process, and device_uid=<user>
/// makes a process of that user trusted, in addition to those of this user and of root.
std::span<const char* const> ArgumentKeys();

/// One counter of the model or its wire.
struct Statistic {
  std::string name;  ///< "model_…" for the device, "wire_…" for its wire.
  uint64_t value;
};

/// A running model. It is stepped by its thread, a service lcore or the application's workers until
/// it is destroyed.
class Attachment {
 public:
  virtual ~Attachment() = default;

  virtual bar::Bar& registers() = 0;
  /// Returns the memory of registers(). The attachment owns it. A process that maps the memory's
  /// file at the same address and becomes a guest of bar::PostedQueue can use a copy of
  /// registers().
  virtual const bar::RingMemory& register_memory() const = 0;
  /// Makes a ring's memory accessible to the device until Unmap; BusOf returns the device's
  /// address. All DPDK memory is already accessible, except memory that an application has
  /// registered with rte_extmem_register, which needs MapExternal. `name` is empty, or unique per
  /// NIC and at most 31 characters long. Memory with a name outlives this process: a device in
  /// another process keeps it until Unmap (see Adopt). Returns false if the device has no room for
  /// another range or is gone. Any thread may call it on the control path; it waits for a bounded
  /// time.
  virtual bool Map(const bar::RingMemory& memory, std::string_view name = {}) = 0;
  virtual void Unmap(const bar::RingMemory& memory) = 0;
  /// Makes [begin, begin + bytes) of the application's memory, in whole pages, accessible to the
  /// device at its virtual address until UnmapExternal is called for the same range. A device in
  /// another process can reach only shared mappings of memory files that this process has open or
  /// may open through /proc/self/map_files. Returns 0, even if the range is already mapped. On
  /// failure, returns a negative errno and stores a one-line message in `error`. Any thread may
  /// call it on the control path.
  virtual int MapExternal(void* begin, size_t bytes, std::string* error) = 0;
  /// Unmaps the range, which the device must have stopped using. Returns 0, or -EINVAL if the range
  /// is not mapped.
  virtual int UnmapExternal(void* begin, size_t bytes) = 0;
  /// Allocates `bytes` bytes of zeroed memory (whole huge pages) that the device and this process
  /// will share through Map. Unmap frees the memory. Returns empty memory on failure.
  virtual bar::RingMemory Allocate(size_t bytes) {
    return bar::RingMemory::Create(bytes, false, bar::RingMemory::Pages::kPreferHuge);
  }
  /// Returns the device's address for mapped memory.
  virtual uint64_t BusOf(const bar::RingMemory& memory) const {
    return reinterpret_cast<uint64_t>(memory.data());
  }
  /// Maps and returns memory that an earlier process mapped under `name` and did not unmap. The
  /// caller owns the memory and must call Map with it. Returns empty memory if the name is unknown,
  /// which is always the case for a model in this process.
  virtual bar::RingMemory Adopt(std::string_view name) = 0;

  /// Returns how many times this process has seen the device in its power-on state: initially 1,
  /// plus 1 each time a device in another process comes back after it has died or was reset. All
  /// registers then have their power-on values, and mapped memory is accessible again.
  /// registers().LinkUp() is false in between. May be called by any thread; cheap.
  virtual uint32_t Generation() const = 0;

  /// Returns a non-blocking eventfd that is written when the device raises an interrupt of this
  /// number (regs/vectors.h). The attachment owns it. kPortVector also signals that the device has
  /// gone or come back, and that the carrier has changed. Any thread may call it on the control
  /// path. Returns -1 with errno EINVAL (no such number), EMFILE or similar (no free descriptor),
  /// or ENOTSUP (the device's bus does not forward interrupts).
  virtual int InterruptFd(uint32_t vector) = 0;

  /// Returns a snapshot of all counters. The names and their order are constant. If a device in
  /// another process is lost, returns the last values, and later adds the counts of the device's
  /// successor to them. Any thread may call it on the control path; it waits for a bounded time.
  virtual std::vector<Statistic> Statistics() = 0;
  /// Returns the wire's carrier, including injected link faults; false while a device in another
  /// process is gone.
  virtual bool WireUp() = 0;
  /// Returns the address that the wire uses for this NIC; the driver should use the same address.
  virtual void MacAddress(uint8_t mac[6]) = 0;
  /// Starts or stops the wire's traffic sources, which are initially stopped; the driver starts
  /// them with the port. Returns when the change has taken effect, or after a bounded wait; in the
  /// latter case, the change is made when the device runs again.
  virtual void EnableWire(bool enabled) = 0;
};

/// Creates and starts a model. `name` is the vdev's name (unique per process). If an argument is
/// invalid, returns null and sets `error` to a one-line message that names the argument and the
/// fix.
std::unique_ptr<Attachment> Attach(std::string_view name, const ModelInfo& model,
                                   const SettingValues& settings,
                                   std::span<const Argument> arguments, std::string* error);

}  // namespace sluice::emulator

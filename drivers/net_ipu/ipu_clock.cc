// SPDX-License-Identifier: BSD-3-Clause
//
// Implements ethdev's timesync functions: the device's clock, and the timestamps of PTP frames.
#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <mutex>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;

timespec ToTimespec(uint64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecond_ns),
          .tv_nsec = static_cast<long>(ns % kSecond_ns)};
}

int Switch(rte_eth_dev* dev, bool on) {
  Adapter& adapter = AdapterOf(dev);
  const std::scoped_lock lock(adapter.configuration);
  adapter.timesync = on;
  adapter.registers.Write32(kStampTaken, kStampRx | kStampTx);
  WritePortControl(adapter);
  return 0;
}

/// Reads the timestamp of the first stamped frame, and frees the register for the next one. Returns
/// -EINVAL if there is no timestamp.
int ReadStamp(rte_eth_dev* dev, uint32_t offset, uint32_t taken, timespec* time) {
  Adapter& adapter = AdapterOf(dev);
  const uint64_t stamp_ns = adapter.registers.Read64(offset);
  if (!adapter.timesync || stamp_ns == 0 || stamp_ns == UINT64_MAX) return -EINVAL;
  adapter.registers.Write32(kStampTaken, taken);
  *time = ToTimespec(stamp_ns);
  return 0;
}

}  // namespace

/// If the port was started with the transmit burst that ignores frame flags, switches to the full
/// burst.
int TimesyncEnable(rte_eth_dev* dev) {
  if (dev->data->dev_started && dev->tx_pkt_burst == TxBurstSimple) {
    dev->tx_pkt_burst = TxBurstFull;
    rte_eth_fp_ops[dev->data->port_id].tx_pkt_burst = TxBurstFull;
  }
  const int error = Switch(dev, true);
  // Makes secondary processes choose their burst functions again.
  AdapterOf(dev).starts.fetch_add(1, std::memory_order_release);
  return error;
}
int TimesyncDisable(rte_eth_dev* dev) { return Switch(dev, false); }

int TimesyncReadRx(rte_eth_dev* dev, timespec* time, uint32_t) {
  return ReadStamp(dev, kRxStamp, kStampRx, time);
}
int TimesyncReadTx(rte_eth_dev* dev, timespec* time) {
  return ReadStamp(dev, kTxStampTime, kStampTx, time);
}

int TimesyncAdjust(rte_eth_dev* dev, int64_t by_ns) {
  AdapterOf(dev).registers.Write64(kClockAdjust, static_cast<uint64_t>(by_ns));
  return 0;
}

int TimesyncRead(rte_eth_dev* dev, timespec* time) {
  uint64_t now_ns;
  const int error = ReadClock(dev, &now_ns);
  if (error == 0) *time = ToTimespec(now_ns);
  return error;
}

int TimesyncWrite(rte_eth_dev* dev, const timespec* time) {
  constexpr time_t kMaxSeconds = INT64_MAX / kSecond_ns - 1;
  if (time->tv_sec < 0 || time->tv_sec > kMaxSeconds) return -EINVAL;
  if (time->tv_nsec < 0 || time->tv_nsec >= kSecond_ns) return -EINVAL;
  AdapterOf(dev).registers.Write64(
      kClock, static_cast<uint64_t>(time->tv_sec * kSecond_ns + time->tv_nsec));
  return 0;
}

int ReadClock(rte_eth_dev* dev, uint64_t* now_ns) {
  *now_ns = AdapterOf(dev).registers.Read64(kClock);
  return *now_ns == UINT64_MAX ? -EIO : 0;
}

}  // namespace sluice::net_ipu

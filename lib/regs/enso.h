// SPDX-License-Identifier: BSD-3-Clause
//
// Register map and 64-byte formats of the Ensō FPGA NIC, hardware version 0.4.6 (Sadok et al.,
// "Ensō: A Streaming Interface for NIC-Application Communication", OSDI'23, and the published RTL;
// docs/enso-hardware.md). This file is the only interface between the driver and the model. All
// multi-byte fields are little-endian. A flit is 64 bytes; pointers in this file are in flits
// unless the name contains another unit.
#pragma once

#include <cstdint>

namespace sluice::regs::enso {

inline constexpr uint16_t kPciVendor = 0x1172;
inline constexpr uint16_t kPciDevice = 0x0000;
inline constexpr int kPciBar = 2;

inline constexpr uint32_t kFlitBytes = 64;
inline constexpr uint32_t kPageBytes = 4096;
inline constexpr uint32_t kMaxPipes = 8192;                ///< Pages 0 … 8191.
inline constexpr uint32_t kMaxNotificationBuffers = 1024;  ///< Pages 8192 … 9215.
inline constexpr uint32_t kBarBytes = (kMaxPipes + kMaxNotificationBuffers) * kPageBytes;
static_assert(kBarBytes == 37'748'736);

/// Return the offset in BAR 2 of a pipe's page or a notification buffer's page.
constexpr uint32_t PipePage(uint32_t pipe) { return pipe * kPageBytes; }
constexpr uint32_t NbPage(uint32_t nb) { return (kMaxPipes + nb) * kPageBytes; }

/// Offsets within a page. Bits 6 … 11 of the address are ignored, so the 64-byte block repeats
/// throughout the page. One aligned 8-byte store updates two registers at once. A store with only
/// some of a register's four bytes does not change it.
inline constexpr uint32_t kRxTail = 0x00;  ///< Written by the NIC; software zeroes it at bring-up.
/// Written by software. On a pipe page, every store is a trigger. On the page of a disabled pipe
/// (rx_mem 0), a store that differs from rx_tail skips a slot of notification buffer 0.
inline constexpr uint32_t kRxHead = 0x04;
/// On a pipe page: base address, with the NB id in the low 10 bits.
inline constexpr uint32_t kRxMemLo = 0x08;
inline constexpr uint32_t kRxMemHi = 0x0c;
inline constexpr uint32_t kTxTail = 0x10;   ///< NB page only. A store starts the descriptor fetch.
inline constexpr uint32_t kTxHead = 0x14;   ///< NB page only. Set to tail when the NIC *fetches*.
inline constexpr uint32_t kTxMemLo = 0x18;  ///< NB page only.
inline constexpr uint32_t kTxMemHi = 0x1c;

/// Register of the transport unit (transport.h), which only models have: two registers of the last
/// pipe's page that the hardware does not use and reads as 0.
inline constexpr uint32_t kTransport = PipePage(kMaxPipes - 1) + 0x10;

/// Low bits of a pipe's rx_mem: the number of its notification buffer.
inline constexpr uint64_t kPipeNbMask = (1u << 10) - 1;

/// Default sizes; the JTAG tool can change them on hardware.
inline constexpr uint32_t kDefaultPipeFlits = 32768;  ///< 2 MiB. Power of two ≤ 2^20.
inline constexpr uint32_t kDefaultNbEntries = 16384;  ///< Slots in the RX ring, and in the TX ring.
inline constexpr uint32_t kDefaultTxCredits = 500;    ///< 256 … 1000 allowed.
inline constexpr uint32_t kMaxPipeFlits = 1u << 20;
/// Significant bits of a pointer. The NIC wraps pointers at the ring size before it counts free
/// flits, but compares head and tail without wrapping them (RTL, pkt_queue_manager.sv).
inline constexpr uint32_t kPointerMask = kMaxPipeFlits - 1;

/// Device limits.
inline constexpr uint32_t kPacketBuffers = 1024;  ///< 2 KiB each, between MAC and DMA.
inline constexpr uint32_t kMaxRxFlits = 24;       ///< Longest received frame by design: 1536 bytes.
/// Maximum number of queued head-store triggers. Further triggers are lost.
inline constexpr uint32_t kHeadTriggerDepth = 124;
inline constexpr uint32_t kTxFetchMax = 256;              ///< Descriptors per DMA read.
inline constexpr uint32_t kMaxTransferBytes = 1'048'512;  ///< Maximum length of one TX slot.
inline constexpr uint32_t kMaxTxFrameFlits = 64;   ///< A longer claimed length deadlocks the FIFO.
inline constexpr uint64_t kClockHz = 200'000'000;  ///< For timestamps, rate limiter, round robin.

/// First word of a slot: 1 for RX notifications and TX data slots, exactly 2 for TX configuration
/// commands, 0 for a free or completed slot.
inline constexpr uint64_t kSignalNone = 0;
inline constexpr uint64_t kSignalData = 1;
inline constexpr uint64_t kSignalConfig = 2;

/// NIC → host. The NIC writes all 64 bytes; software zeroes `signal` after reading.
struct RxNotification {
  uint64_t signal;
  uint64_t pipe;  ///< 13 bits.
  uint64_t tail;  ///< 20 bits: the pipe's new tail, in flits.
  uint64_t reserved[5];
};

/// Host → NIC. On completion, the NIC overwrites all 64 bytes and sets `signal` to 0.
struct TxNotification {
  uint64_t signal;
  uint64_t address;  ///< Bus address, 64-byte aligned.
  uint64_t length;   ///< In bytes; 20 bits are used.
  uint64_t reserved[5];
};

/// Configuration commands: TX slots with signal kSignalConfig. The NIC executes a command when it
/// fetches the slot, before it reads the data of earlier slots. It completes slots in order,
/// slightly before the command takes effect.
enum class ConfigId : uint64_t {
  kFlowEntry = 1,
  kTimestamp = 2,
  kRateLimit = 3,
  kFallback = 4,
};

struct FlowEntryConfig {
  uint64_t signal;
  uint64_t id;
  uint16_t dst_port;  ///< Host order, like all fields of a flow.
  uint16_t src_port;
  uint32_t dst_ip;
  uint32_t src_ip;
  uint32_t protocol;  ///< Ignored by the hardware.
  uint32_t pipe;      ///< With kUnbind, the flow is treated as a miss.
  uint8_t reserved[28];
};
inline constexpr uint32_t kUnbind = 0xffff'ffff;

struct TimestampConfig {
  uint64_t signal;
  uint64_t id;
  uint64_t enable;  ///< Bit 63; software writes all ones.
  uint64_t offset;  ///< Byte offset 0 … 60 of the 4-byte timestamp in the frame.
  uint64_t reserved[4];
};

struct RateLimitConfig {
  uint64_t signal;
  uint64_t id;
  uint16_t denominator;
  uint16_t numerator;  ///< 0 blocks transmission permanently; a value ≥ denominator means no limit.
  uint32_t enable;     ///< Bit 31.
  uint64_t reserved[5];
};

struct FallbackConfig {
  uint64_t signal;
  uint64_t id;
  uint32_t count;  ///< Fallback pipes are ids 0 … count−1. With 0, misses are dropped.
  uint32_t mask;   ///< 2^⌊log2 count⌋ − 1, computed by software.
  /// Bit 63. If clear: pipe = hash & mask. If set: the pipe becomes (pipe + 1) & mask in every
  /// cycle of kClockHz, regardless of the count.
  uint64_t enable_round_robin;
  uint64_t reserved[4];
};

/// Only the top bit of enable fields has an effect.
inline constexpr uint64_t kEnable64 = ~uint64_t{0};
inline constexpr uint32_t kEnable32 = ~uint32_t{0};

static_assert(sizeof(RxNotification) == kFlitBytes && sizeof(TxNotification) == kFlitBytes);
static_assert(sizeof(FlowEntryConfig) == kFlitBytes && sizeof(TimestampConfig) == kFlitBytes);
static_assert(sizeof(RateLimitConfig) == kFlitBytes && sizeof(FallbackConfig) == kFlitBytes);

/// Flow table: four sub-tables of 2048 rows, indexed with lookup3's final mix.
inline constexpr uint32_t kSubTables = 4;
inline constexpr uint32_t kSubTableRows = 2048;
inline constexpr uint32_t kHashSeed = 0xdeadbefb;

/// Returns the number of flits that a frame of `bytes` occupies in a pipe.
constexpr uint32_t Flits(uint32_t bytes) { return (bytes + kFlitBytes - 1) / kFlitBytes; }

}  // namespace sluice::regs::enso

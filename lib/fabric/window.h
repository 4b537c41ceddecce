// SPDX-License-Identifier: BSD-3-Clause
//
// A window in virtual time: two ends that satisfy bar::WindowEnd, so that protocol code runs
// unchanged on the model. Host lines are in the NIC's memory. NIC lines are pushed to the host's
// memory, or remain in the NIC, where the host reads them uncached or write-through. The window is
// a model: all times are computed, not measured.
//
// Several host processors can use one window (AddHost). Each has its own clock, its own
// write-combining buffers and its own cache of write-through lines. At any time, only one of them
// may post a given line.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "bar/tlp.h"
#include "bar/window.h"
#include "fabric/costs.h"
#include "fabric/cpu.h"
#include "fabric/event_queue.h"
#include "fabric/link.h"

namespace sluice::fabric {

/// How the host writes its lines.
enum class HostStores : uint8_t {
  kWholeLine,       ///< MOVDIR64B: one 64-byte write, never torn.
  kWriteCombining,  ///< One write if the buffer was full, otherwise words in any order.
  kUncached,        ///< Eight 8-byte writes, word 0 last.
};

/// Where the NIC's lines are stored.
enum class NicLines : uint8_t {
  kPushed,        ///< In the host's memory; the NIC pushes them there.
  kUncached,      ///< In the NIC's memory; each word is a separate read.
  kWriteThrough,  ///< In the NIC's memory; a line stays cached after a read until Flush().
};

/// How the NIC's processor maps the NIC's memory.
enum class NicMapping : uint8_t {
  kCached,    ///< Write-back: a read costs one cache-line read.
  kUncached,  ///< Each 8-byte access goes to memory, as in Wave's baseline.
};

/// How long a BAR read takes. One mode per run.
enum class ReadTime : uint8_t {
  kFlat,      ///< Costs::mmio_read_uncached, a published measurement.
  kComposed,  ///< Twice the link latency plus the device's service time.
};

struct WindowParameters {
  uint32_t lines = 1;
  HostStores host_stores = HostStores::kWholeLine;
  NicLines nic_lines = NicLines::kPushed;
  NicMapping nic_mapping = NicMapping::kCached;
  ReadTime read_time = ReadTime::kFlat;
  /// Number of write-combining buffers per 1000 that the processor evicts before they are full.
  uint32_t early_evictions_permille = 0;
  uint64_t seed = 1;  ///< Seed for the evictions and the order of words.
  LinkParameters link;
  Costs costs;
};

class HostEnd;
class NicEnd;

/// Both ends of a window, with the link and the memories between them. Used by one thread. The
/// queue must outlive this object. When this object is destroyed, none of its events may remain in
/// the queue.
class WindowPair {
 public:
  WindowPair(EventQueue& queue, const WindowParameters& parameters);
  ~WindowPair();

  HostEnd& host(uint32_t number = 0) { return *hosts_[number]; }
  /// Adds a host processor with the next number, starting at 1. The processor gets the interrupts
  /// whose vector equals its number. Processor 0 gets all other interrupts.
  HostEnd& AddHost();
  uint32_t hosts() const { return static_cast<uint32_t>(hosts_.size()); }
  /// Selects the processor that wakes up when pushed NIC line `index` arrives; initially processor
  /// 0.
  void AssignLine(uint32_t index, uint32_t host) { readers_[index] = host; }
  NicEnd& nic() { return *nic_; }
  EventQueue& queue() { return *queue_; }
  const WindowParameters& parameters() const { return parameters_; }
  const LinkDirection& down() const { return down_; }
  const LinkDirection& up() const { return up_; }
  bar::LinkBytes link_bytes() const { return {down_.bytes(), up_.bytes()}; }

  /// Takes the link down or brings it up. While it is down, TLPs in flight are lost, new TLPs are
  /// discarded, and reads return all ones after the completion time-out. The first such read marks
  /// the link as dead for the host. When the link is up again, the host can read again. Memory
  /// contents are kept.
  void SetLinkUp(bool up);

 private:
  friend class HostEnd;
  friend class NicEnd;

  /// Returns whether a TLP that was sent in this `epoch` of the link can still arrive.
  bool Travels(uint32_t epoch) const { return link_up_ && epoch == epoch_; }
  /// Sends a posted write from `cpu` at the time of its clock. Runs `arrive` when the write
  /// arrives, unless it is lost.
  void SendPosted(LinkDirection& direction, Cpu& cpu, uint32_t payload, EventQueue::Action arrive);
  /// Returns whether lines may arrive in parts. If so, each line contains a CRC.
  bool Tears() const {
    return parameters_.host_stores != HostStores::kWholeLine ||
           parameters_.nic_lines == NicLines::kUncached;
  }
  uint32_t Capabilities() const;

  EventQueue* queue_;
  WindowParameters parameters_;
  LinkDirection down_;
  LinkDirection up_;
  bool link_up_ = true;
  uint32_t epoch_ = 0;
  std::vector<bar::Line> nic_memory_;    ///< Host lines.
  std::vector<bar::Line> device_lines_;  ///< NIC lines that remain in the NIC's memory.
  std::vector<bar::Line> host_memory_;   ///< NIC lines pushed to the host.
  std::vector<uint32_t> readers_;        ///< For each NIC line, the host processor that reads it.
  std::vector<std::unique_ptr<HostEnd>> hosts_;
  std::unique_ptr<NicEnd> nic_;
};

/// Common part of both ends: a processor at a window that counts its link bytes.
class FabricEnd : public Cpu {
 public:
  FabricEnd(WindowPair& pair, EventQueue& queue) : Cpu(queue), pair_(pair) {}

  uint32_t lines() const { return pair_.parameters().lines; }
  Picoseconds now_ps() const { return now(); }
  /// Returns the link bytes of this end's operations, including the answers to its reads.
  bar::LinkBytes link_bytes() const { return bytes_; }

 protected:
  const Costs& costs() const { return pair_.parameters().costs; }

  WindowPair& pair_;
  bar::LinkBytes bytes_;
};

/// The host's end: bar::WindowEnd, and operations that only a host processor has.
class HostEnd : public FabricEnd {
 public:
  HostEnd(WindowPair& pair, EventQueue& queue, uint32_t number);

  uint32_t capabilities() const;
  void Post(uint32_t index, const bar::Line& line);
  uint64_t Peek(uint32_t index);
  bool Poll(uint32_t index, bar::Line& out);
  uint64_t ReadUncached(uint32_t index, uint32_t word);
  /// Writes out every write-combining buffer and invalidates every cached line.
  void Flush();
  void Interrupt(uint32_t) {}  ///< Does nothing: a host does not interrupt a device.

  /// Stores the words of `line` selected by `mask` in the line's write-combining buffer. A full
  /// buffer is sent as one write; Flush() or a read sends a partial buffer as words in any order.
  /// Requires HostStores::kWriteCombining.
  void StoreWords(uint32_t index, const bar::Line& line, uint32_t mask);
  /// Starts to read a write-through line without waiting. Requires NicLines::kWriteThrough.
  void Prefetch(uint32_t index);

 private:
  static constexpr uint32_t kAllWords = 0xff;

  struct Buffer {  ///< A write-combining buffer.
    bar::Line line;
    uint32_t mask = 0;
  };
  /// A pending read. `line` is the device's line when the request arrives.
  struct Read {
    bar::Line line;
    bool done = false;
    bool lost = false;
  };

  void WriteOut(std::map<uint32_t, Buffer> buffers);
  void WriteOutLine(uint32_t index, const bar::Line& line);
  void WriteOutWord(uint32_t index, uint32_t word, uint64_t value);
  std::shared_ptr<Read> StartRead(uint32_t index, uint32_t bytes);
  void Lose(const std::shared_ptr<Read>& read, Picoseconds began);
  /// Waits for the read. Returns false if the read was lost. If the link is still down then, this
  /// end considers it dead.
  bool Finish(const std::shared_ptr<Read>& read);
  /// Returns the cached line, reading it first if necessary, or nullopt if the read was lost.
  std::optional<bar::Line> Cached(uint32_t index);
  bool PollUncached(uint32_t index, bar::Line& out);

  friend class WindowPair;
  std::mt19937_64 random_;
  std::map<uint32_t, Buffer> buffers_;
  std::map<uint32_t, std::shared_ptr<Read>> cache_;  ///< Write-through lines, cached or being read.
  bool dead_ = false;
};

/// The NIC's end. It reads host lines from local memory.
class NicEnd : public FabricEnd {
 public:
  NicEnd(WindowPair& pair, EventQueue& queue) : FabricEnd(pair, queue) {}

  uint32_t capabilities() const;
  void Post(uint32_t index, const bar::Line& line);
  uint64_t Peek(uint32_t index);
  bool Poll(uint32_t index, bar::Line& out);
  uint64_t ReadUncached(uint32_t index, uint32_t word);
  void Flush() {}
  /// Sends an MSI-X after all earlier posts. After Costs::MsixEndToEnd(), the OnInterrupt agent
  /// runs on the processor that AddHost assigned to the vector.
  void Interrupt(uint32_t vector);

 private:
  /// Returns how long a read or store of `words` words in the NIC's memory takes.
  Picoseconds Access(uint64_t words) const {
    return pair_.parameters().nic_mapping == NicMapping::kCached ? costs().nic_cached_line
                                                                 : costs().nic_memory * words;
  }
};

static_assert(bar::WindowEnd<HostEnd> && bar::WindowEnd<NicEnd>);

}  // namespace sluice::fabric

// SPDX-License-Identifier: BSD-3-Clause
//
// A window in virtual time: two ends that satisfy bar::WindowEnd, so that protocol code
// runs on the model as it is. Host lines lie in the memory of the NIC. NIC lines are
// pushed into the memory of the host, or stay with the NIC and are read by the host,
// uncached or write-through. A model: every time here is computed, none is measured.
//
// Several processors of the host may be at one window (AddHost): each has its own clock, its own
// write-combining buffers and its own cache of write-through lines. Each line is posted by one of
// them at a time.
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
  kWholeLine,       ///< MOVDIR64B: one write of 64 bytes, never torn.
  kWriteCombining,  ///< One write if the buffer filled up, else words in any order.
  kUncached,        ///< Eight writes of 8 bytes, word 0 last.
};

/// Where the NIC's lines are.
enum class NicLines : uint8_t {
  kPushed,        ///< In the memory of the host, written by the NIC.
  kUncached,      ///< At the NIC; each word is a read of its own.
  kWriteThrough,  ///< At the NIC; a line once read stays cached until Flush().
};

/// How the NIC's own processor maps the memory of the NIC.
enum class NicMapping : uint8_t {
  kCached,    ///< Write-back: a look costs a line of its cache.
  kUncached,  ///< Each 8 bytes cost an access to memory: Wave's starting point.
};

/// How long a read of the BAR takes. One mode per run.
enum class ReadTime : uint8_t {
  kFlat,      ///< Costs::mmio_read_uncached, as measured by others.
  kComposed,  ///< Twice one way and the service of the device.
};

struct WindowParameters {
  uint32_t lines = 1;
  HostStores host_stores = HostStores::kWholeLine;
  NicLines nic_lines = NicLines::kPushed;
  NicMapping nic_mapping = NicMapping::kCached;
  ReadTime read_time = ReadTime::kFlat;
  /// Of 1000 write-combining buffers, how many the processor writes out before they are full.
  uint32_t early_evictions_permille = 0;
  uint64_t seed = 1;  ///< Of evictions and of the order of words.
  LinkParameters link;
  Costs costs;
};

class HostEnd;
class NicEnd;

/// The link and the memories. One thread. The queue outlives it, and holds no event of it
/// when it goes.
class WindowPair {
 public:
  WindowPair(EventQueue& queue, const WindowParameters& parameters);
  ~WindowPair();

  HostEnd& host(uint32_t number = 0) { return *hosts_[number]; }
  /// One more processor of the host, numbered onwards from 1: it gets the interrupts of the
  /// vector of its number. Processor 0 gets all that are nobody else's.
  HostEnd& AddHost();
  uint32_t hosts() const { return static_cast<uint32_t>(hosts_.size()); }
  /// From now on NIC line `index`, pushed, wakes that processor of the host. At first: 0.
  void AssignLine(uint32_t index, uint32_t host) { readers_[index] = host; }
  NicEnd& nic() { return *nic_; }
  EventQueue& queue() { return *queue_; }
  const WindowParameters& parameters() const { return parameters_; }
  const LinkDirection& down() const { return down_; }
  const LinkDirection& up() const { return up_; }
  bar::LinkBytes link_bytes() const { return {down_.bytes(), up_.bytes()}; }

  /// Down: what is under way is lost, what is sent goes nowhere, reads return all ones
  /// after the completion time-out; the first tells the host that the link is dead. Up
  /// again: the host may read again. Memory stays.
  void SetLinkUp(bool up);

 private:
  friend class HostEnd;
  friend class NicEnd;

  /// Whether something sent in this `epoch` of the link still travels.
  bool Travels(uint32_t epoch) const { return link_up_ && epoch == epoch_; }
  /// Sends a posted write of `cpu` on its clock, and runs `arrive` if and when it does.
  void SendPosted(LinkDirection& direction, Cpu& cpu, uint32_t payload, EventQueue::Action arrive);
  /// Lines may arrive in pieces, so each carries its CRC.
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
  std::vector<bar::Line> device_lines_;  ///< NIC lines as the NIC has them.
  std::vector<bar::Line> host_memory_;   ///< NIC lines, pushed.
  std::vector<uint32_t> readers_;        ///< Processor of the host that a NIC line is for.
  std::vector<std::unique_ptr<HostEnd>> hosts_;
  std::unique_ptr<NicEnd> nic_;
};

/// What both ends are: a processor at a window that counts what it causes on the link.
class FabricEnd : public Cpu {
 public:
  FabricEnd(WindowPair& pair, EventQueue& queue) : Cpu(queue), pair_(pair) {}

  uint32_t lines() const { return pair_.parameters().lines; }
  Picoseconds now_ps() const { return now(); }
  /// Of this end's operations, answers to its reads included.
  bar::LinkBytes link_bytes() const { return bytes_; }

 protected:
  const Costs& costs() const { return pair_.parameters().costs; }

  WindowPair& pair_;
  bar::LinkBytes bytes_;
};

/// The host's end: bar::WindowEnd, and what only a host's processor does.
class HostEnd : public FabricEnd {
 public:
  HostEnd(WindowPair& pair, EventQueue& queue, uint32_t number);

  uint32_t capabilities() const;
  void Post(uint32_t index, const bar::Line& line);
  uint64_t Peek(uint32_t index);
  bool Poll(uint32_t index, bar::Line& out);
  uint64_t ReadUncached(uint32_t index, uint32_t word);
  /// Writes out every write-combining buffer; forgets every cached line.
  void Flush();
  void Interrupt(uint32_t) {}  ///< A host does not interrupt a device.

  /// Stores the words of `line` that `mask` names into the line's write-combining buffer.
  /// A buffer leaves when it is full; one that Flush() or a read forces out leaves as
  /// words in any order. Only with kWriteCombining.
  void StoreWords(uint32_t index, const bar::Line& line, uint32_t mask);
  /// Starts to read a write-through line and goes on. Only with kWriteThrough.
  void Prefetch(uint32_t index);

 private:
  static constexpr uint32_t kAllWords = 0xff;

  struct Buffer {  ///< Write-combining.
    bar::Line line;
    uint32_t mask = 0;
  };
  /// A read on its way. The device's line as it was when the request arrived there.
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
  /// Waits. False if the read was lost; if the link is still down, it is dead for this end.
  bool Finish(const std::shared_ptr<Read>& read);
  /// The cached line, read if need be; none if the read was lost.
  std::optional<bar::Line> Cached(uint32_t index);
  bool PollUncached(uint32_t index, bar::Line& out);

  friend class WindowPair;
  std::mt19937_64 random_;
  std::map<uint32_t, Buffer> buffers_;
  std::map<uint32_t, std::shared_ptr<Read>> cache_;  ///< Write-through lines, or on their way.
  bool dead_ = false;
};

/// The NIC's end. Looks are reads of its own memory.
class NicEnd : public FabricEnd {
 public:
  NicEnd(WindowPair& pair, EventQueue& queue) : FabricEnd(pair, queue) {}

  uint32_t capabilities() const;
  void Post(uint32_t index, const bar::Line& line);
  uint64_t Peek(uint32_t index);
  bool Poll(uint32_t index, bar::Line& out);
  uint64_t ReadUncached(uint32_t index, uint32_t word);
  void Flush() {}
  /// MSI-X. Behind everything posted before; the host's OnInterrupt runs
  /// Costs::MsixEndToEnd() later, on the processor of that number.
  void Interrupt(uint32_t vector);

 private:
  /// What a look at `words` words of the NIC's own memory takes, or a store of them.
  Picoseconds Access(uint64_t words) const {
    return pair_.parameters().nic_mapping == NicMapping::kCached ? costs().nic_cached_line
                                                                 : costs().nic_memory * words;
  }
};

static_assert(bar::WindowEnd<HostEnd> && bar::WindowEnd<NicEnd>);

}  // namespace sluice::fabric

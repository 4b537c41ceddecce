// SPDX-License-Identifier: BSD-3-Clause
//
// A link, an application that echoes frames, and a wire, with a journal of each frame. No frame may
// be lost, duplicated or torn. `Links` selects lib/swap's link or the reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "swap/region.h"

namespace sluice::swap::test {

inline constexpr uint32_t kMaxTags = 512;

/// The journal of frames, indexed by tag. The process that observes an event writes it. The journal
/// is in the same shared memory as the link, so that it survives a killed process.
struct Journal {
  uint32_t offered;                        ///< Tags 1 … offered were offered by the wire.
  std::array<uint8_t, kMaxTags> accepted;  ///< The NIC accepted the frame.
  std::array<uint8_t, kMaxTags>
      delivered;                          ///< Number of times that the application read the frame.
  std::array<uint8_t, kMaxTags> dropped;  ///< The application dropped the frame.
  std::array<uint8_t, kMaxTags> sent;     ///< Number of times that the frame was sent to the wire.
  uint32_t last_delivered;
  uint32_t last_sent;
  uint32_t disordered;  ///< Number of frames that arrived after a later frame, at either end.
  uint32_t torn;        ///< Number of torn frames at either end.
  uint32_t epoch;       ///< Value of the device's register, an epoch.
  uint32_t enables;     ///< Number of writes to the device's register.
};

/// Frames have 60 or 124 bytes, all of which depend on the tag.
inline uint32_t TagLength(uint32_t tag) { return tag % 3 == 0 ? 124 : 60; }
inline void WriteTagged(uint8_t* frame, uint32_t tag) {
  for (uint32_t i = 0; i < TagLength(tag); i += 4) {
    const uint32_t word = i == 0 ? tag : tag * 0x9e37'79b9 + i;
    std::memcpy(frame + i, &word, 4);
  }
}
/// Returns the tag of a frame, or 0 if it is torn.
inline uint32_t ReadTagged(const uint8_t* frame, uint32_t length) {
  uint32_t tag;
  std::memcpy(&tag, frame, 4);
  if (tag == 0 || tag >= kMaxTags || length != TagLength(tag)) return 0;
  std::array<uint8_t, 124> expected;
  WriteTagged(expected.data(), tag);
  return std::memcmp(frame, expected.data(), length) == 0 ? tag : 0;
}

/// One step of one of the two processes. All actions consist of these steps.
enum class Step : uint8_t {
  // Steps of the host.
  kPoll,
  kWork,
  kCancel,
  kReset,    ///< The host detects that the device has been powered on.
  kRestart,  ///< The host restarts from memory.
  // Steps of the NIC.
  kReceive,
  kServe,
  kSend,
  kPowerOn,
};
inline bool IsHosts(Step turn) { return turn <= Step::kRestart; }
inline const char* Name(Step turn) {
  constexpr const char* kNames[] = {"poll",    "work",  "cancel", "reset",   "restart",
                                    "receive", "serve", "send",   "power-on"};
  return kNames[static_cast<uint8_t>(turn)];
}

template <typename Links>
class World {
 public:
  static constexpr Geometry kGeometry{
      .regions = 4, .region_bytes = 4096, .max_frames = 16, .headroom_bytes = 0};
  static constexpr uint32_t kSendBurst = 2;
  static size_t LinkBytes() { return Links::BytesFor(kGeometry); }
  static size_t Bytes() { return LinkBytes() + sizeof(Journal); }

  /// Creates a new link in `memory`, which has Bytes() bytes.
  explicit World(std::span<uint8_t> memory) : memory_(memory) {
    std::memset(memory.data(), 0, memory.size());
    Links::Format(Link(), kGeometry);
    Run(Step::kRestart);
  }

  std::span<uint8_t> Link() { return memory_.first(LinkBytes()); }
  Journal& journal() { return *reinterpret_cast<Journal*>(memory_.data() + LinkBytes()); }
  typename Links::Host& host() { return *host_; }

  void Run(Step turn) { IsHosts(turn) ? RunHost(turn) : RunNic(turn); }

  /// Runs both ends for 64 rounds, after which no frame moves.
  void Quiesce() {
    for (int i = 0; i < 64; ++i) {
      for (const Step turn : {Step::kServe, Step::kPoll, Step::kWork, Step::kSend}) Run(turn);
    }
  }

  /// Offers one frame. Returns false if the NIC has no space for it.
  bool Receive() {
    const uint32_t tag = journal().offered + 1;
    if (tag >= kMaxTags || nic_ == nullptr) return false;
    uint8_t* const to = nic_->Reserve(TagLength(tag));
    if (to == nullptr) return false;
    journal().offered = tag;
    WriteTagged(to, tag);
    nic_->Publish(TagLength(tag));
    journal().accepted[tag] = 1;
    return true;
  }

 private:
  void RunHost(Step turn) {
    switch (turn) {
      case Step::kPoll:
        host_->Poll(1);
        break;
      case Step::kWork:
        if (host_->holding()) Work();
        break;
      case Step::kCancel:
        host_->Cancel();
        break;
      case Step::kReset:
        host_->Reset();
        EnableLink();
        break;
      default:
        host_ = Links::OpenHost(Link());
        rejected_ = 0;
        EnableLink();
    }
  }

  void EnableLink() {
    journal().epoch = host_->epoch();
    ++journal().enables;
  }

  // Performs a step of the NIC. Except in a power-on step, the device first reads its register.
  void RunNic(Step turn) {
    if (turn == Step::kPowerOn) {
      nic_.reset();
      return;
    }
    if (journal().enables != enables_) {
      enables_ = journal().enables;
      nic_ = Links::OpenNic(Link(), static_cast<uint16_t>(journal().epoch));
    }
    if (nic_ == nullptr) return;
    if (turn == Step::kServe) nic_->Serve();
    if (turn == Step::kSend) Send();
    for (int i = 0; turn == Step::kReceive && i < 3; ++i) Receive();
  }

  void Send() {
    FrameToSend frames[kSendBurst];
    const uint32_t count = nic_->DequeueFrames(frames, kSendBurst);
    for (uint32_t i = 0; i < count; ++i) {
      Seen(ReadTagged(frames[i].data, frames[i].length), journal().sent, journal().last_sent);
    }
  }

  /// Reads all received frames, drops every fifth frame, and gives the region back for sending. If
  /// the NIC rejected the region, gives it back again.
  void Work() {
    const Region region = host_->region();
    if (Links::Rejected(*host_) != rejected_) {
      rejected_ = Links::Rejected(*host_);
      return host_->Give(given_, false);
    }
    given_ = host_->received();
    for (uint32_t i = 0; i < given_; ++i) {
      Entry& entry = region.entries()[i];
      const uint32_t tag = EntryIsSound(entry, kGeometry)
                               ? ReadTagged(region.base + EntryOffset(entry), EntryLength(entry))
                               : 0;
      Seen(tag, journal().delivered, journal().last_delivered);
      if (tag % 5 != 0) continue;
      journal().dropped[tag] = 1;
      entry = 0;
    }
    // A region that waits for frames is sent only when frames arrive.
    host_->Give(given_, given_ == 0 && ++works_ % 2 != 0);
  }

  void Seen(uint32_t tag, std::array<uint8_t, kMaxTags>& times, uint32_t& last) {
    if (tag == 0) {
      ++journal().torn;
      return;
    }
    journal().disordered += tag <= last;
    last = tag;
    ++times[tag];
  }

  std::span<uint8_t> memory_;
  std::unique_ptr<typename Links::Host> host_;
  std::unique_ptr<typename Links::Nic> nic_;
  uint32_t enables_ = 0;  ///< The value that the device last read.
  uint32_t works_ = 0;
  uint32_t given_ = 0;
  uint64_t rejected_ = 0;
};

}  // namespace sluice::swap::test

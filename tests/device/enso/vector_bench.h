// SPDX-License-Identifier: BSD-3-Clause
//
// Formats the NIC's response to a stimulus as one line of text: all writes to host memory, then all
// sent frames.
//
//   D(p,i)     a flit of the packet in slot i of pipe p; D(p,i..j) a run of them
//   N[s]{p,t}  notification in slot s of buffer 0: signal 1, pipe p, tail t, rest zero
//   C[s]{w,l}  completion in TX slot s of buffer 0: signal 0, w (data by its name, a
//              command by its number), length l, rest zero; C1[s] of buffer 1
//   W(n)       a frame of n bytes on the wire
//   !          anything else
//
// Memory written by the NIC is overwritten with a pattern before the next stimulus. A slot that is
// written twice with equal words is therefore shown twice.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "host.h"

namespace sluice::device::enso {

class VectorBench : public Host {
 public:
  /// Buffer for configuration commands. Buffer 0 is left to the vectors.
  static constexpr uint32_t kConfigNb = 1023;

  /// Opens the first `buffers` notification buffers.
  explicit VectorBench(EnsoConfig config = {}, uint32_t buffers = 1) : Host(config) {
    OpenNb(config_nb = kConfigNb);
    for (uint32_t nb = 0; nb < buffers; ++nb) {
      OpenNb(nb);
      const std::string id = nb == 0 ? "" : std::to_string(nb);
      Watch({rx_ring(nb), config.nb_entries, "N" + id, 0});
      Watch({tx_ring(nb), config.nb_entries, "C" + id, 0});
    }
  }

  /// Steers frames with UDP destination port `pipe` to the pipe with that number, enabled or not.
  void Steer(uint32_t pipe) { Bind(static_cast<uint16_t>(pipe), 0, Headers{}.dst_ip, 0, pipe); }
  void Enable(uint32_t pipe, uint32_t nb = 0) {
    Steer(pipe);
    OpenPipe(pipe, nb);
    Watch({pipe_ring(pipe), config().pipe_flits, "D", pipe});
  }
  /// Enables a pipe by storing only its ring address.
  std::string EnableByAddressAlone(uint32_t pipe) {
    const uint64_t ring = Allocate(config().pipe_flits * kFlitBytes);
    Watch({ring, config().pipe_flits, "D", pipe});
    Write64(PipePage(pipe) + kRxMemLo, ring);
    return Answer();
  }

  std::string Packets(uint32_t pipe, uint32_t flits, uint32_t count = 1) {
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < count; ++i) {
      frames.push_back(MakeFrame(flits * kFlitBytes, {.dst_port = static_cast<uint16_t>(pipe)},
                                 static_cast<uint8_t>(++packets_)));
    }
    return Arrive(frames);
  }
  std::string Arrive(const std::vector<Bytes>& frames) {
    for (const Bytes& f : frames) {
      for (size_t at = 0; at < f.size(); at += kFlitBytes) {
        arrived_.emplace_back(f.begin() + at, f.begin() + std::min(at + kFlitBytes, f.size()));
      }
    }
    EXPECT_EQ(ReceiveAll(frames), frames.size());
    return Answer();
  }
  std::string Head(uint32_t pipe, uint32_t head) {
    StoreHead(pipe, head);
    return Answer();
  }

  /// Stores frames in memory under a name, each at a flit boundary.
  uint64_t Data(const std::string& name, const std::vector<Bytes>& frames) {
    const uint64_t bus = Compose(frames);
    names_[bus] = name;
    Remember();
    return bus;
  }
  /// Assigns the name `name` to a position within data; responses then contain the name.
  uint64_t Name(const std::string& name, uint64_t bus) {
    names_[bus] = name;
    return bus;
  }
  template <typename Format>
  void PutSlot(uint32_t nb, uint32_t index, const Format& slot) {
    static_assert(sizeof(Format) == kFlitBytes);
    std::memcpy(At(tx_ring(nb) + uint64_t{index} * kFlitBytes), &slot, kFlitBytes);
    Remember();
  }
  void PutSlot(uint32_t nb, uint32_t index, uint64_t bus, uint64_t length) {
    PutSlot(nb, index, TxNotification{kSignalData, bus, length, {}});
  }
  void TxTail(uint32_t nb, uint32_t tail) { Write32(NbPage(nb) + kTxTail, tail); }
  std::string Publish(uint32_t nb, uint32_t tail) {
    TxTail(nb, tail);
    return Answer();
  }

  /// Runs the NIC, then returns its actions since the last response.
  std::string Answer() {
    wire.frames.clear();
    while (Transmit() != 0) {
    }
    std::string text;
    for (Region& region : regions_) text += WrittenTo(region);
    // The buffer that carries the tests' commands is not part of any vector.
    const uint64_t commands = tx_ring(kConfigNb);
    std::memcpy(&covered_[commands - kBus], At(commands), config().nb_entries * kFlitBytes);
    if (std::memcmp(At(kBus), covered_.data(), covered_.size()) != 0) text += "! ";
    for (const Bytes& frame : wire.frames) text += "W(" + std::to_string(frame.size()) + ") ";
    arrived_.clear();
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  static constexpr int kCover = 0xee;

  struct Region {
    uint64_t bus;
    uint32_t slots;
    std::string kind;
    uint32_t pipe;
    uint32_t next = 0;  ///< Slot at which the first write is expected.
  };

  /// Fills a ring with a pattern that the NIC never writes.
  void Watch(const Region& region) {
    std::memset(At(region.bus), kCover, region.slots * size_t{kFlitBytes});
    regions_.push_back(region);
    Remember();
  }
  void Remember() { covered_.assign(At(kBus), At(kBus) + allocated()); }

  std::string WrittenTo(Region& region) {
    std::vector<uint32_t> written;
    for (uint32_t i = 0; i < region.slots; ++i) {
      const uint32_t slot = (region.next + i) % region.slots;
      if (std::memcmp(Now(region, slot), Before(region, slot), kFlitBytes) == 0) continue;
      written.push_back(slot);
    }
    std::string text;
    for (size_t i = 0; i < written.size(); ++i) {
      if (region.kind == "D") {
        const size_t first = i;
        bool ours = IsOurs(region, written[i]);
        while (i + 1 < written.size() && written[i + 1] == written[i] + 1) {
          ours &= IsOurs(region, written[++i]);
        }
        text += (ours ? "" : "!") + Run(region.pipe, written[first], written[i]);
      } else {
        text += Slot(region, written[i]);
      }
    }
    for (const uint32_t slot : written) {
      std::memset(Now(region, slot), kCover, kFlitBytes);
      std::memset(Before(region, slot), kCover, kFlitBytes);
    }
    if (!written.empty()) {
      region.next = (written.back() + 1) % region.slots;
    }
    return text;
  }
  static std::string Run(uint32_t pipe, uint32_t first, uint32_t last) {
    const std::string end = first == last ? "" : ".." + std::to_string(last);
    return "D(" + std::to_string(pipe) + "," + std::to_string(first) + end + ") ";
  }
  std::string Slot(const Region& region, uint32_t slot) {
    uint64_t words[8];
    std::memcpy(words, Now(region, slot), sizeof(words));
    const bool notification = region.kind[0] == 'N';
    bool right = words[0] == (notification ? kSignalData : kSignalNone);
    for (int i = 3; i < 8; ++i) right &= words[i] == 0;
    const auto name = names_.find(words[1]);
    return (right ? "" : "!") + region.kind + "[" + std::to_string(slot) + "]{" +
           (name == names_.end() ? std::to_string(words[1]) : name->second) + "," +
           std::to_string(words[2]) + "} ";
  }
  bool IsOurs(const Region& region, uint32_t slot) {
    for (const Bytes& flit : arrived_) {
      if (std::memcmp(Now(region, slot), flit.data(), flit.size()) == 0) return true;
    }
    return false;
  }
  uint8_t* Now(const Region& region, uint32_t slot) {
    return At(region.bus) + slot * size_t{kFlitBytes};
  }
  uint8_t* Before(const Region& region, uint32_t slot) {
    return covered_.data() + (region.bus - kBus) + slot * size_t{kFlitBytes};
  }

  std::vector<Region> regions_;
  Bytes covered_;               ///< Host memory before the stimulus.
  std::vector<Bytes> arrived_;  ///< Flits received from the wire since the last response.
  std::map<uint64_t, std::string> names_;
  uint32_t packets_ = 0;
};

/// A row of a vector table.
struct Vector {
  const char* number;
  std::function<std::string(VectorBench&)> stimulus;
  const char* response;
};

inline void Play(VectorBench& nic, std::initializer_list<Vector> vectors) {
  nic.Answer();  // Discards the response to the bring-up.
  for (const Vector& vector : vectors) {
    EXPECT_EQ(vector.stimulus(nic), vector.response) << "vector " << vector.number;
  }
}

// Stimuli.
inline auto Packets(uint32_t pipe, uint32_t flits, uint32_t count = 1) {
  return [=](VectorBench& nic) { return nic.Packets(pipe, flits, count); };
}
inline auto Head(uint32_t pipe, uint32_t head) {
  return [=](VectorBench& nic) { return nic.Head(pipe, head); };
}

}  // namespace sluice::device::enso

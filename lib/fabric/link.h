// SPDX-License-Identifier: BSD-3-Clause
//
// A PCIe link: two directions, each a server that takes TLPs in order. A TLP occupies
// its direction for its bytes at the TLP rate; it arrives one way after it began to leave
// (the 379 ns were measured with small transfers, whose serialisation they include), so
// that the last byte of a long transfer arrives after one way plus length over rate.
// Nothing overtakes anything in a direction: posted writes never pass posted writes,
// reads and completions never pass posted writes.
//
// Posted writes need credits of the receiver, which return one way after it took them;
// without credits the direction stalls, and everything behind with it.
#pragma once

#include <cstdint>
#include <deque>

#include "bar/tlp.h"
#include "fabric/picoseconds.h"

namespace sluice::fabric {

struct LinkParameters {
  uint32_t generation = 4;  ///< Generation 4 x 16: what an IPU of the first generation has.
  uint32_t lanes = 16;
  uint32_t maximum_payload = 256;
  /// Posted credits that a receiver grants: TLPs, and units of 16 bytes of payload. The
  /// defaults never stall a receiver that keeps up (bandwidth times two ways is 21 KiB).
  uint32_t posted_headers = 512;
  uint32_t posted_data = 4096;
  /// Time that the receiver of a direction spends on each posted TLP before its credits
  /// return.
  Picoseconds receive_service = 0;
};

enum class TlpKind : uint8_t { kPosted, kReadRequest, kCompletion };

/// When a TLP began to leave and when it arrives.
struct Transmission {
  Picoseconds start;
  Picoseconds arrival;
};

/// One direction.
class LinkDirection {
 public:
  LinkDirection(const LinkParameters& parameters, Picoseconds oneway);

  /// Sends one TLP of `payload` bytes that is `latency` under way, not before `now`. Calls
  /// come in the order of `now`.
  Transmission Send(Picoseconds now, TlpKind kind, uint32_t payload, Picoseconds latency);

  uint64_t bytes() const { return bytes_; }  ///< Framing included.
  uint64_t tlps() const { return tlps_; }
  /// Total time for which TLPs waited for credits and for nothing else.
  Picoseconds credit_stall() const { return credit_stall_; }
  /// Time for which `bytes` occupy the direction, rounded up.
  Picoseconds ServiceTime(uint64_t bytes) const;

 private:
  struct Credits {
    uint32_t data;
    Picoseconds returned;  ///< When the sender has them again.
  };
  Picoseconds WaitForCredits(Picoseconds from, uint32_t data);

  LinkParameters parameters_;
  Picoseconds oneway_;
  uint64_t bits_per_second_;
  Picoseconds free_at_ = 0;       ///< The last TLP has left.
  Picoseconds last_arrival_ = 0;  ///< Nothing arrives before it.
  Picoseconds received_at_ = 0;   ///< The receiver has dealt with everything posted.
  std::deque<Credits> lent_;      ///< Oldest first.
  uint32_t lent_data_ = 0;
  uint64_t bytes_ = 0;
  uint64_t tlps_ = 0;
  Picoseconds credit_stall_ = 0;
};

}  // namespace sluice::fabric

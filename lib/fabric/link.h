// SPDX-License-Identifier: BSD-3-Clause
//
// A PCIe link with two directions, each of which serves TLPs in order. A TLP occupies its direction
// for its length divided by the TLP rate. Its first byte arrives one link latency after it was sent
// (the 379 ns were measured with small transfers and include their serialisation). The last byte of
// a long transfer therefore arrives after the latency plus the length divided by the rate. Nothing
// is reordered within a direction: posted writes never pass posted writes, and reads and
// completions never pass posted writes.
//
// Posted writes need credits from the receiver, which the sender regains one latency after the
// receiver has processed the write. If credits run out, the direction stalls, and all later TLPs
// wait.
#pragma once

#include <cstdint>
#include <deque>

#include "bar/tlp.h"
#include "fabric/picoseconds.h"

namespace sluice::fabric {

struct LinkParameters {
  uint32_t generation = 4;  ///< Generation 4 with 16 lanes, as in a first-generation IPU.
  uint32_t lanes = 16;
  uint32_t maximum_payload = 256;
  /// Posted credits that a receiver grants: a number of TLPs, and of 16-byte units of payload. With
  /// the defaults, a receiver that keeps up never causes a stall (bandwidth times round trip is 21
  /// KiB).
  uint32_t posted_headers = 512;
  uint32_t posted_data = 4096;
  /// Time that the receiver of a direction needs for each posted TLP before it returns the credits.
  Picoseconds receive_service = 0;
};

enum class TlpKind : uint8_t { kPosted, kReadRequest, kCompletion };

/// Send and arrival time of a TLP.
struct Transmission {
  Picoseconds start;
  Picoseconds arrival;
};

/// One direction of a link.
class LinkDirection {
 public:
  LinkDirection(const LinkParameters& parameters, Picoseconds oneway);

  /// Sends one TLP of `payload` bytes with latency `latency`, not before `now`. `now` must not
  /// decrease between calls.
  Transmission Send(Picoseconds now, TlpKind kind, uint32_t payload, Picoseconds latency);

  uint64_t bytes() const { return bytes_; }  ///< Includes framing.
  uint64_t tlps() const { return tlps_; }
  /// Returns the total time during which TLPs waited only for credits.
  Picoseconds credit_stall() const { return credit_stall_; }
  /// Returns the time for which `bytes` occupy the direction, rounded up.
  Picoseconds ServiceTime(uint64_t bytes) const;

 private:
  struct Credits {
    uint32_t data;
    Picoseconds returned;  ///< Time at which the credits return to the sender.
  };
  Picoseconds WaitForCredits(Picoseconds from, uint32_t data);

  LinkParameters parameters_;
  Picoseconds oneway_;
  uint64_t bits_per_second_;
  Picoseconds free_at_ = 0;       ///< Time at which the last TLP has been sent.
  Picoseconds last_arrival_ = 0;  ///< Time of the last arrival; later TLPs arrive no earlier.
  Picoseconds received_at_ = 0;   ///< Time at which the receiver has processed all posted TLPs.
  std::deque<Credits> lent_;      ///< Credits in use, oldest first.
  uint32_t lent_data_ = 0;
  uint64_t bytes_ = 0;
  uint64_t tlps_ = 0;
  Picoseconds credit_stall_ = 0;
};

}  // namespace sluice::fabric

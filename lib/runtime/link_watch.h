// SPDX-License-Identifier: BSD-3-Clause
//
// Records the periods during which a port's link was down, from one thread's samples, and formats
// the log lines. Used by Supervisor. All times are in seconds since the run began.
#pragma once

#include <absl/strings/str_format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// A period during which the link was down.
struct LinkDown {
  double at_s = 0;
  double duration_s = 0;
};

/// A link that is not up when the run begins counts as down from then on. The period is reported
/// only after it has lasted kStartGraceS, because a port may still be starting.
class LinkWatch {
 public:
  static constexpr double kStartGraceS = 1;
  /// Maximum number of stored periods. Further periods are only counted.
  static constexpr size_t kMostKept = 64;

  /// `port` is the port's name in log lines.
  explicit LinkWatch(std::string port) : port_(std::move(port)) {}

  /// Processes a sample that was read at `now_s`. Returns a line that reports the change, or an
  /// empty string if there is none.
  std::string Look(bool up, double now_s) {
    if (up && !down_since_s_) return "";
    if (!up) {
      if (!down_since_s_) {
        down_since_s_ = now_s;
      } else if (announced_ || now_s - *down_since_s_ < kStartGraceS) {
        return "";
      }
      announced_ = true;
      return absl::StrFormat("%7.1f s  %s: link down", *down_since_s_, port_);
    }
    const LinkDown down{*down_since_s_, now_s - *down_since_s_};
    down_since_s_.reset();
    if (!announced_) return "";
    Keep(down);
    return absl::StrFormat("%7.1f s  %s: link up, was down for %.3f s", now_s, port_,
                           down.duration_s);
  }
  /// Ends the last period at `now_s`.
  void End(double now_s) {
    if (down_since_s_ && announced_) Keep({*down_since_s_, now_s - *down_since_s_});
    down_since_s_.reset();
  }

  bool up() const { return !down_since_s_; }
  /// Returns the reported periods that have ended, at most the first kMostKept. End also ends the
  /// last period.
  const std::vector<LinkDown>& downs() const { return downs_; }
  uint64_t count() const { return count_; }
  double seconds() const { return seconds_; }

 private:
  void Keep(const LinkDown& down) {
    ++count_;
    seconds_ += down.duration_s;
    if (downs_.size() < kMostKept) downs_.push_back(down);
  }

  std::string port_;
  std::optional<double> down_since_s_ = 0;
  bool announced_ = false;
  std::vector<LinkDown> downs_;
  uint64_t count_ = 0;
  double seconds_ = 0;
};

}  // namespace sluice::runtime

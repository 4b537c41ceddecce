// SPDX-License-Identifier: BSD-3-Clause
//
// The host's table of tasks: a fixed number of places, identifiers that are never reused, and the
// list of tasks that wait for a CPU. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/sched/abi.h"

namespace sluice::engine::sched {

enum class TaskState : uint8_t {
  kBlocked,
  kRunnable,  ///< Waits for a CPU; may be latched to one.
  kOnCpu,
  kDeparted,  ///< No longer scheduled by agents.
  kDead,
};

/// A task of the host.
struct Task {
  Gtid gtid = kNoTask;
  TaskState state = TaskState::kDead;
  uint8_t task_class = 0;
  uint16_t group = 0;
  CpuId cpu = 0;                  ///< CPU on which it runs or last ran, or to which it is latched.
  bool latched = false;           ///< Chosen for `cpu`, but not on it yet.
  bool departure_unseen = false;  ///< The task has departed, but agents may still name it.
  uint32_t barrier = 0;
  CpuMask affinity = 0;
  Nanoseconds runtime = 0;  ///< Total CPU time; for a task on a CPU, up to `since`.
  Nanoseconds since = 0;    ///< Time at which its state began.
};

class TaskPlaces {
 public:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  /// An element of the table. Waiting places (kRunnable) are linked in order of `since`. Free
  /// places (dead or never used) are linked in the order in which they became free.
  struct alignas(64) Place {
    Task task;
    uint32_t next = kNowhere;
    uint32_t previous = kNowhere;
  };

  /// Creates `places` free places, at least one.
  explicit TaskPlaces(uint32_t places);

  size_t size() const { return places_.size(); }
  std::vector<Place>::iterator begin() { return places_.begin(); }
  std::vector<Place>::iterator end() { return places_.end(); }
  std::vector<Place>::const_iterator begin() const { return places_.begin(); }
  std::vector<Place>::const_iterator end() const { return places_.end(); }

  /// Returns the place of a task, which may be dead. Returns null if no task had this identifier,
  /// or if its place was reused.
  const Place* Find(Gtid gtid) const {
    if (gtid >> index_bits_ <= 0) return nullptr;
    const auto index = static_cast<uint64_t>(gtid) & ((uint64_t{1} << index_bits_) - 1);
    if (index >= places_.size()) return nullptr;
    const Place& place = places_[index];
    return place.task.gtid == gtid ? &place : nullptr;
  }
  Place* Find(Gtid gtid) { return const_cast<Place*>(std::as_const(*this).Find(gtid)); }

  /// Returns the place that has been free longest, with a new identifier and all other members
  /// reset. Returns null if no place is free.
  Place* Allocate();
  /// Appends the place to the free list. The task keeps its identifier, so that it is known as
  /// dead.
  void Free(Place& place) { Append(free_, place); }

  /// Appends the place to the waiting list.
  void Wait(Place& place) { Append(waiting_, place); }
  void StopWaiting(Place& place) { Remove(waiting_, place); }
  /// Iterate over the waiting tasks, longest wait first; null at the end.
  const Place* FirstWaiting() const { return At(waiting_.first); }
  const Place* NextWaiting(const Place& place) const { return At(place.next); }
  const Place* LastWaiting() const { return At(waiting_.last); }
  const Place* PreviousWaiting(const Place& place) const { return At(place.previous); }

 private:
  struct List {
    uint32_t first = kNowhere;
    uint32_t last = kNowhere;
  };

  const Place* At(uint32_t index) const { return index == kNowhere ? nullptr : &places_[index]; }
  void Append(List& list, Place& place) {
    const auto index = static_cast<uint32_t>(&place - places_.data());
    place.next = kNowhere;
    place.previous = list.last;
    (list.last == kNowhere ? list.first : places_[list.last].next) = index;
    list.last = index;
  }
  void Remove(List& list, Place& place) {
    (place.previous == kNowhere ? list.first : places_[place.previous].next) = place.next;
    (place.next == kNowhere ? list.last : places_[place.next].previous) = place.previous;
    place.next = place.previous = kNowhere;
  }

  std::vector<Place> places_;
  /// Number of bits of a Gtid that contain the index; the upper bits count the uses of the place.
  int index_bits_;
  List waiting_;
  List free_;
};

}  // namespace sluice::engine::sched

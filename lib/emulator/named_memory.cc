// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/named_memory.h"

#include <algorithm>
#include <utility>

namespace sluice::emulator {

const char* NamedMemory::WhyNot(std::string_view name) const {
  const Entry* const known = Find(name);
  if (known != nullptr) return known->bus != 0 ? "the name of the memory is in use" : nullptr;
  const bool all_attached = std::all_of(entries_.begin(), entries_.end(),
                                        [](const auto& entry) { return entry.second.bus != 0; });
  return entries_.size() >= kMaxNames && all_attached ? "too many named memories" : nullptr;
}

void NamedMemory::Keep(std::string_view name, Entry entry) {
  entry.order = ++latest_;
  if (entries_.size() >= kMaxNames && Find(name) == nullptr) {
    // Entries of the attached host are replaced last.
    const auto age = [](const auto& e) { return std::pair(e.second.bus != 0, e.second.order); };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [&](const auto& a, const auto& b) { return age(a) < age(b); }));
  }
  entries_.insert_or_assign(std::string(name), std::move(entry));
}

const NamedMemory::Entry* NamedMemory::Find(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() ? &entry->second : nullptr;
}

void NamedMemory::Forget(std::string_view name) {
  if (const auto entry = entries_.find(name); entry != entries_.end()) entries_.erase(entry);
}

void NamedMemory::Detach() {
  for (auto& [name, entry] : entries_) entry.bus = 0;
}

}  // namespace sluice::emulator

// SPDX-License-Identifier: BSD-3-Clause
//
// Random values of a signature table's types, in wire format.
#pragma once

#include <algorithm>
#include <random>

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "rpc/table.h"

namespace sluice::test {

class RandomWire {
 public:
  RandomWire(const rpc::Table& table, std::mt19937_64& random) : table_(table), random_(random) {}

  Bytes Of(uint32_t type) {
    wire_.clear();
    Add(type, 6);
    return wire_;
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void AddWord(uint32_t word) {
    wire_.resize(wire_.size() + 4);
    packet::StoreBe32(&wire_[wire_.size() - 4], word);
  }
  void AddWords(uint32_t count) {
    for (; count != 0; --count) AddWord(static_cast<uint32_t>(random_()));
  }
  /// Adds nonzero bytes, because a zero would end a string. The padding is arbitrary.
  void AddBytes(uint32_t count) {
    for (uint32_t i = 0; i < rpc::Padded(count); ++i) {
      wire_.push_back(static_cast<uint8_t>(1 + Below(255)));
    }
  }
  uint32_t AddCount(uint32_t limit, uint32_t most) {
    const uint32_t count = Below(std::min(limit, most) + 1);
    AddWord(count);
    return count;
  }

  void Add(uint32_t type, uint32_t depth) {
    for (const rpc::Step* step = &table_.steps[table_.types[type].first_step];
         step->kind != rpc::StepKind::kEnd; ++step) {
      Add(*step, depth);
    }
  }
  void Add(const rpc::Step& step, uint32_t depth) {
    switch (step.kind) {
      case rpc::StepKind::kWords:
      case rpc::StepKind::kInt8:
      case rpc::StepKind::kUint8:
      case rpc::StepKind::kInt16:
      case rpc::StepKind::kUint16:
        return AddWords(step.count);
      case rpc::StepKind::kLong:
      case rpc::StepKind::kUnsignedLong:
        // libtirpc's streams extend a long differently from its memory buffers, so only positive
        // values are used.
        for (uint32_t i = 0; i < step.count; ++i) AddWord(Below(1u << 31));
        return;
      case rpc::StepKind::kLongs:
        return AddWords(2 * step.count);
      case rpc::StepKind::kBools:
        for (uint32_t i = 0; i < step.count; ++i) AddWord(Below(3));
        return;
      case rpc::StepKind::kOpaque:
        return AddBytes(step.count);
      case rpc::StepKind::kEach:
        for (uint32_t i = 0; i < step.count; ++i) Add(step.type, depth);
        return;
      case rpc::StepKind::kString:
      case rpc::StepKind::kBytes:
        return AddBytes(AddCount(step.count, 20));
      case rpc::StepKind::kArray:
        for (uint32_t left = AddCount(step.count, depth == 0 ? 0 : 3); left != 0; --left) {
          Add(step.type, depth - 1);
        }
        return;
      case rpc::StepKind::kOptional: {
        const uint32_t there = depth == 0 ? 0 : Below(2);
        AddWord(there);
        if (there != 0) Add(step.type, depth - 1);
        return;
      }
      default:
        return AddUnion(step, depth);
    }
  }
  void AddUnion(const rpc::Step& step, uint32_t depth) {
    const rpc::Arm* const arms = &table_.arms[step.type];
    // A value that none of the other arms has, for the default arm.
    uint32_t value = 1000;
    uint32_t chosen = Below(step.count + (arms[step.count].type != rpc::kNoType));
    if (chosen != step.count) value = arms[chosen].value;
    AddWord(value);
    Add(arms[chosen].type, depth);
  }

  const rpc::Table& table_;
  std::mt19937_64& random_;
  Bytes wire_;
};

}  // namespace sluice::test

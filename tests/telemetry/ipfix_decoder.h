// SPDX-License-Identifier: BSD-3-Clause
//
// A strict IPFIX collector that follows only RFC 7011 and rejects every violation. It supports only
// IANA's elements and fixed-length fields, which suffice for Sluice's exporter.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

class IpfixDecoder {
 public:
  /// A data record. `values` contains big-endian bytes, indexed by information element.
  struct Record {
    uint16_t set = 0;
    uint16_t scope_fields = 0;  ///< 0 for a flow record.
    std::map<uint16_t, std::vector<uint8_t>> values;

    uint64_t Number(uint16_t element) const {
      uint64_t number = 0;
      for (const uint8_t byte : values.at(element)) number = number << 8 | byte;
      return number;
    }
    double Float(uint16_t element) const { return __builtin_bit_cast(double, Number(element)); }
  };

  /// Appends the data records of a message. Returns an error, or an empty string.
  std::string Read(std::span<const uint8_t> message, std::vector<Record>* records) {
    if (message.size() < 16) return "shorter than a header";
    if (U16(message, 0) != 10) return "not version 10";
    if (U16(message, 2) != message.size()) return "its length differs from the header";
    if (message.size() == 16) return "no set";
    domain_ = U32(message, 12);
    export_time_s = U32(message, 4);
    // Section 3.1: number of data records before this message, modulo 2^32.
    if (U32(message, 8) != sequences_[domain_]) return "out of sequence";
    for (size_t at = 16; at < message.size();) {
      const auto rest = message.subspan(at);
      if (rest.size() < 4) return "trailing bytes after the last set";
      const uint16_t id = U16(rest, 0), bytes = U16(rest, 2);
      if (bytes <= 4 || bytes > rest.size()) return "a set with a bad length";
      const auto set = rest.subspan(4, bytes - 4u);
      std::string wrong;
      if (id == 2 || id == 3) {
        wrong = ReadTemplates(set, id == 3);
      } else if (id >= 256) {
        wrong = ReadData(set, id, records);
      } else {
        wrong = "a reserved set";
      }
      if (!wrong.empty()) return wrong;
      at += bytes;
    }
    return "";
  }

  uint32_t export_time_s = 0;  ///< Export time of the last message.
  uint32_t domain() const { return domain_; }
  size_t templates() const { return templates_.size(); }

 private:
  struct Template {
    uint16_t scope_fields = 0;
    /// The element's number and its length in bytes.
    std::vector<std::pair<uint16_t, uint16_t>> fields;
    size_t record_bytes = 0;

    bool operator==(const Template&) const = default;
  };
  using Bytes = std::span<const uint8_t>;

  static uint16_t U16(Bytes bytes, size_t at) {
    return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
  }
  static uint32_t U32(Bytes bytes, size_t at) {
    return uint32_t{U16(bytes, at)} << 16 | U16(bytes, at + 2);
  }

  std::string ReadTemplates(Bytes set, bool options) {
    const size_t head = options ? 6 : 4;
    size_t at = 0;
    while (at < set.size()) {
      if (set.size() - at < head) return "trailing bytes after the last template";
      const uint16_t id = U16(set, at), count = U16(set, at + 2);
      if (id < 256) return "a template with a reserved id";
      Template made;
      made.scope_fields = options ? U16(set, at + 4) : 0;
      at += head;
      if (count == 0) return "a template withdrawal, which UDP does not have";  // Section 8.4.
      if (options && (made.scope_fields == 0 || made.scope_fields > count)) return "a bad scope";
      if ((set.size() - at) / 4 < count) return "a template that ends early";
      for (uint16_t i = 0; i < count; ++i, at += 4) {
        const uint16_t element = U16(set, at), bytes = U16(set, at + 2);
        if ((element & 0x8000) != 0) return "an enterprise's element";
        if (element == 0 || bytes == 0 || bytes == 65535) return "a bad field";
        made.fields.emplace_back(element, bytes);
        made.record_bytes += bytes;
      }
      const auto [known, is_new] = templates_.try_emplace({domain_, id}, made);
      if (!is_new && !(known->second == made)) return "a template that changed";
    }
    return "";
  }

  std::string ReadData(Bytes set, uint16_t id, std::vector<Record>* records) {
    const auto known = templates_.find({domain_, id});
    if (known == templates_.end()) return "data without a template";
    const Template& form = known->second;
    if (set.size() < form.record_bytes) return "a set without a record";
    while (set.size() >= form.record_bytes) {
      Record record{.set = id, .scope_fields = form.scope_fields, .values = {}};
      for (const auto& [element, bytes] : form.fields) {
        record.values[element].assign(set.begin(), set.begin() + bytes);
        set = set.subspan(bytes);
      }
      records->push_back(std::move(record));
      ++sequences_[domain_];
    }
    for (const uint8_t byte : set) {
      if (byte != 0) return "padding that is not 0";
    }
    return "";
  }

  uint32_t domain_ = 0;
  std::map<uint32_t, uint32_t> sequences_;
  std::map<std::pair<uint32_t, uint16_t>, Template> templates_;
};

}  // namespace sluice::test

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../../apps/pktgen/stream_file.h"
#include "check.h"
#include "engine/pktgen/stream.h"
#include "packet/fixtures.h"
#include "packet/parse.h"
#include "targets.h"

namespace sluice::fuzz {

namespace {

using engine::pktgen::Field;
using engine::pktgen::FrameSet;
using engine::pktgen::HeaderSpec;
using engine::pktgen::Phase;
using engine::pktgen::StreamSpec;

void CheckField(const Field& field, Field::Value most) {
  FUZZ_CHECK(field.most() <= most);
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, ~uint64_t{0}}) {
    FUZZ_CHECK(field.At(n) <= most);
  }
}

void CheckHeaders(const HeaderSpec& headers) {
  constexpr Field::Value kOne = 1;
  const Field::Value address = headers.ip_version == 6 ? ~Field::Value{0} : (kOne << 32) - 1;
  FUZZ_CHECK(headers.ip_version == 4 || headers.ip_version == 6);
  FUZZ_CHECK(headers.tags.size() <= 2);
  for (const auto& tag : headers.tags) {
    CheckField(tag.id, 4095);
    FUZZ_CHECK(tag.priority <= 7);
  }
  CheckField(headers.source_mac, (kOne << 48) - 1);
  CheckField(headers.destination_mac, (kOne << 48) - 1);
  CheckField(headers.source, address);
  CheckField(headers.destination, address);
  CheckField(headers.service, 255);
  CheckField(headers.source_port, 65535);
  CheckField(headers.destination_port, 65535);
}

void CheckTimes(const StreamSpec& stream) {
  FUZZ_CHECK(!stream.phases.empty());
  uint64_t end_ps = 0;
  for (const Phase& phase : stream.phases) {
    FUZZ_CHECK(phase.start_ps >= end_ps && phase.end_ps > phase.start_ps);
    end_ps = phase.end_ps;
  }
}

/// Builds the frames only for small counts, because building thousands of frames takes too long.
void CheckFrames(const StreamSpec& stream) {
  std::vector<const Field*> fields = stream.headers.fields();
  fields.push_back(&stream.sizes);
  if (stream.vxlan) {
    fields.push_back(&stream.vxlan->network);
    for (const Field* field : stream.vxlan->outer.fields()) fields.push_back(field);
  }
  uint64_t most = 1;
  for (const Field* field : fields) {
    if (field->is_random() || field->cycle() > 16) return;
    most *= field->cycle();
    if (most > 16) return;
  }
  std::string error;
  const auto frames = engine::pktgen::BuildFrames(stream, &error);
  FUZZ_CHECK((frames == nullptr) == !error.empty());
  if (frames == nullptr) return;
  FUZZ_CHECK(!frames->empty() && frames->size() <= most);
  for (uint64_t i = 0; i < frames->size(); ++i) {
    const FrameSet::Entry& entry = frames->entry(i);
    FUZZ_CHECK(entry.length + 4u == stream.sizes.At(i));
    const packet::Headers headers = packet::Parse(frames->bytes(entry), entry.length);
    FUZZ_CHECK(headers.error == packet::ParseError::kNone);
  }
}

}  // namespace

void PktgenStreams(const uint8_t* data, size_t size) {
  const test::ExactBuffer bytes({data, size});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Skips captures, because they name arbitrary files and another fuzzer covers them. Escapes could
  // hide the word "pcap".
  if (text.find("pcap") != text.npos || text.find("\\u") != text.npos) return;
  std::vector<std::string> errors;
  const auto streams = pktgen::ParseStreams(text, &errors);
  FUZZ_CHECK(streams.has_value() == errors.empty());
  for (const std::string& error : errors) {
    FUZZ_CHECK(!error.empty());
    FUZZ_CHECK(std::ranges::none_of(error, [](unsigned char c) { return std::iscntrl(c); }));
  }
  if (!streams) return;
  FUZZ_CHECK(!streams->empty() && streams->size() <= engine::pktgen::kMaxStreams);
  std::set<std::string> names;
  for (const StreamSpec& stream : *streams) {
    FUZZ_CHECK(!stream.name.empty() && names.insert(stream.name).second);
    CheckTimes(stream);
    CheckHeaders(stream.headers);
    if (stream.vxlan) {
      CheckHeaders(stream.vxlan->outer);
      CheckField(stream.vxlan->network, (1u << 24) - 1);
    }
    FUZZ_CHECK(stream.sizes.most() <= engine::pktgen::kMaxSize);
    CheckFrames(stream);
  }
}

}  // namespace sluice::fuzz

// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "check.h"
#include "checksums.h"
#include "packet/fixtures.h"
#include "rpc/call_frame.h"
#include "rpc/hostile_table.h"
#include "rpc/marshal.h"
#include "rpc/record.h"
#include "rpc/reply.h"
#include "rpc/unmarshal.h"
#include "rpc/x_compiler.h"
#include "rpc/x_samples.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

const rpc::CompiledX& Everything() {
  static const rpc::CompiledX x = [] {
    std::string error;
    auto compiled = rpc::CompileX(test::kEverythingX, "everything.x", &error);
    FUZZ_CHECK(compiled && error.empty() && compiled->table.IsSound());
    return *compiled;
  }();
  return x;
}

/// Marshals an accepted value again. Unmarshalling the result must return the same value.
void ReadAndWrite(const rpc::Table& table, uint32_t type, const uint8_t* wire, uint32_t bytes) {
  constexpr uint64_t kBase = 0x1000;
  const test::ExactBuffer memory(test::Bytes(8192)), again(memory.bytes()),
      room{test::Bytes(bytes)};
  const rpc::Room into{.memory = memory.data(), .bytes = memory.size(), .base = kBase};
  const auto read = rpc::Unmarshal(table, type, wire, bytes, into);
  FUZZ_CHECK(read.wire_bytes <= bytes && read.bytes <= memory.size());
  if (read.error != rpc::UnmarshalError::kNone) return;
  const auto source = rpc::Source::Prepared(memory.data(), read.bytes, kBase);
  const auto written = rpc::Marshal(table, type, source, room.data(), room.size());
  FUZZ_CHECK(written.error == rpc::MarshalError::kNone && written.bytes <= read.wire_bytes);
  const rpc::Room other{.memory = again.data(), .bytes = again.size(), .base = kBase};
  const auto reread = rpc::Unmarshal(table, type, room.data(), written.bytes, other);
  FUZZ_CHECK(reread.error == rpc::UnmarshalError::kNone);
}

/// Reads records of at most 64 bytes, in steps whose size is set by the first byte.
void ReadRecords(const test::ExactBuffer& stream) {
  rpc::RecordReader reader(64);
  const uint32_t step = 1 + stream.data()[0] % 32;
  for (uint32_t at = 0; at < stream.size(); at += step) {
    std::span<const uint8_t> bytes(stream.data() + at, std::min(step, stream.size() - at));
    while (!bytes.empty()) {
      const auto state = reader.Consume(&bytes);
      FUZZ_CHECK(reader.record().size() <= 64);
      if (state == rpc::RecordReader::State::kTooLong) return;
      FUZZ_CHECK(state == rpc::RecordReader::State::kRecord || bytes.empty());
    }
  }
}

}  // namespace

void RpcCall(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const test::ExactBuffer message({data, size});
  ReadRecords(message);
  test::Bytes bytes(data + 1, data + size);
  if (data[0] % 2 != 0) SetChecksums(bytes);
  const test::ExactBuffer frame(bytes, 64);
  rpc::CallFrame read;
  const auto error = rpc::ReadCallFrame(frame.data(), frame.size(), &read);
  if (error != rpc::FrameError::kNone && error != rpc::FrameError::kCall) return;
  uint32_t answer = 0;
  if (error == rpc::FrameError::kNone) {
    const rpc::Call& call = read.call;
    FUZZ_CHECK(call.arguments + call.argument_bytes ==
               frame.data() + read.datagram.payload + read.datagram.payload_bytes);
    FUZZ_CHECK(call.sys.machine_name.size() <= rpc::kMaxMachineNameBytes);
    for (uint32_t i = 0; i < call.sys.groups; ++i) static_cast<void>(call.sys.group(i));
    const rpc::Table& table = Everything().table;
    const auto found = table.Find(call.program, call.version, call.procedure);
    if (found.stat == rpc::AcceptStat::kSuccess) {
      ReadAndWrite(table, table.procedures[found.procedure].arguments, call.arguments,
                   call.argument_bytes);
    }
    answer =
        rpc::WriteAccepted(frame.data() + read.reply_at(), call.xid, rpc::AcceptStat::kSystemErr);
  } else {
    answer = rpc::WriteRefusal(frame.data() + read.reply_at(), read.call.xid, read.error);
  }
  if (answer == 0) return;
  const uint32_t length = rpc::FinishReply(frame.data(), read, answer);
  FUZZ_CHECK(HasValidChecksums(frame.bytes(length)));
}

void RpcLanguage(const uint8_t* data, size_t size) {
  // Reads the bytes after the first 0 as a value of each type.
  const test::ExactBuffer buffer({data, size});
  const std::string_view all(reinterpret_cast<const char*>(buffer.data()), size);
  const std::string_view text = all.substr(0, all.find('\0'));
  std::string error;
  const auto compiled = rpc::CompileX(text, "f.x", &error);
  FUZZ_CHECK(compiled.has_value() == error.empty());
  if (!compiled) {
    FUZZ_CHECK(error.starts_with("f.x:") && error.find('\n') == std::string::npos);
    return;
  }
  FUZZ_CHECK(compiled->table.IsSound());
  FUZZ_CHECK(compiled->procedure_names.size() == compiled->table.procedures.size());
  if (text.size() == all.size()) return;
  const uint8_t* const wire = buffer.data() + text.size() + 1;
  const auto bytes = static_cast<uint32_t>(size - text.size() - 1);
  for (const auto& [name, type] : compiled->types) {
    ReadAndWrite(compiled->table, type, wire, bytes);
  }
}

void RpcTable(const uint8_t* data, size_t size) {
  test::UseTable(Everything().table, {data, size});
}

}  // namespace sluice::fuzz

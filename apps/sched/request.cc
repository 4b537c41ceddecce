// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include "packet/bytes.h"

namespace sluice::sched {
namespace {

constexpr uint32_t kRequestMagic = 0x534c5351;
constexpr uint32_t kReplyMagic = 0x534c5341;
constexpr uint8_t kVersion = 1;

void WriteHead(uint32_t magic, uint8_t task_class, uint16_t flags, uint64_t id, uint8_t* out) {
  packet::StoreBe32(out, magic);
  out[4] = kVersion;
  out[5] = task_class;
  packet::StoreBe16(out + 6, flags);
  packet::StoreBe32(out + 8, static_cast<uint32_t>(id >> 32));
  packet::StoreBe32(out + 12, static_cast<uint32_t>(id));
}

// Checks the header fields that both formats share.
Fault CheckHead(std::span<const uint8_t> payload, uint32_t bytes, uint32_t magic, uint16_t flags) {
  if (payload.size() != bytes) return Fault::kLength;
  if (packet::LoadBe32(payload.data()) != magic) return Fault::kMagic;
  if (payload[4] != kVersion) return Fault::kVersion;
  if (payload[5] >= kClasses) return Fault::kClass;
  if ((packet::LoadBe16(payload.data() + 6) & ~uint32_t{flags}) != 0) return Fault::kFlags;
  return Fault::kNone;
}

}  // namespace

Fault Read(std::span<const uint8_t> payload, Request& out) {
  const Fault fault = CheckHead(payload, kRequestBytes, kRequestMagic, kNoSafePoints);
  if (fault != Fault::kNone) return fault;
  const uint8_t* const p = payload.data();
  const uint32_t service_ns = packet::LoadBe32(p + 16);
  if (packet::LoadBe32(p + 20) != 0) return Fault::kFlags;
  if (service_ns > kMaxServiceNs) return Fault::kService;
  out = {.id = packet::LoadBe64(p + 8),
         .service_ns = service_ns,
         .flags = packet::LoadBe16(p + 6),
         .task_class = p[5]};
  return Fault::kNone;
}

void Write(const Request& request, std::span<uint8_t, kRequestBytes> out) {
  WriteHead(kRequestMagic, request.task_class, request.flags, request.id, out.data());
  packet::StoreBe32(out.data() + 16, request.service_ns);
  packet::StoreBe32(out.data() + 20, 0);
}

Fault Read(std::span<const uint8_t> payload, Reply& out) {
  const Fault fault = CheckHead(payload, kReplyBytes, kReplyMagic, kNoSafePoints | kCut);
  if (fault != Fault::kNone) return fault;
  const uint8_t* const p = payload.data();
  out = {.id = packet::LoadBe64(p + 8),
         .ran_ns = packet::LoadBe32(p + 16),
         .waited_ns = packet::LoadBe32(p + 20),
         .flags = packet::LoadBe16(p + 6),
         .task_class = p[5]};
  return Fault::kNone;
}

void Write(const Reply& reply, std::span<uint8_t, kReplyBytes> out) {
  WriteHead(kReplyMagic, reply.task_class, reply.flags, reply.id, out.data());
  packet::StoreBe32(out.data() + 16, reply.ran_ns);
  packet::StoreBe32(out.data() + 20, reply.waited_ns);
}

}  // namespace sluice::sched

// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/client.h"

#include <cstring>

#include "packet/bytes.h"

namespace sluice::rpc {
namespace {

/// Reads consecutive words of a reply.
class Words {
 public:
  Words(const uint8_t* bytes, uint32_t size) : at_(bytes), left_(size) {}

  bool Read(uint32_t* word) {
    if (left_ < 4) return false;
    *word = packet::LoadBe32(at_);
    Skip(4);
    return true;
  }
  bool Skip(uint64_t bytes) {
    if (left_ < bytes) return false;
    at_ += bytes;
    left_ -= static_cast<uint32_t>(bytes);
    return true;
  }
  const uint8_t* at() const { return at_; }
  uint32_t left() const { return left_; }

 private:
  const uint8_t* at_;
  uint32_t left_;
};

ReplyError ReadMismatch(Words& words, Reply* reply) {
  return words.Read(&reply->low) && words.Read(&reply->high) ? ReplyError::kNone
                                                             : ReplyError::kTruncated;
}

ReplyError ReadAccepted(Words& words, Reply* reply) {
  uint32_t flavor = 0, verifier_bytes = 0, stat = 0;
  if (!words.Read(&flavor) || !words.Read(&verifier_bytes)) return ReplyError::kTruncated;
  if (verifier_bytes > kMaxAuthBytes) return ReplyError::kBadVerifier;
  if (!words.Skip(Padded(verifier_bytes)) || !words.Read(&stat)) return ReplyError::kTruncated;
  if (stat > static_cast<uint32_t>(AcceptStat::kSystemErr)) return ReplyError::kUnknown;
  reply->accept = static_cast<AcceptStat>(stat);
  if (reply->accept == AcceptStat::kProgMismatch) return ReadMismatch(words, reply);
  if (reply->accept == AcceptStat::kSuccess) {
    reply->results = words.at();
    reply->result_bytes = words.left();
  }
  return ReplyError::kNone;
}

ReplyError ReadDenied(Words& words, Reply* reply) {
  uint32_t reject = 0, auth = 0;
  if (!words.Read(&reject)) return ReplyError::kTruncated;
  if (reject > static_cast<uint32_t>(RejectStat::kAuthError)) return ReplyError::kUnknown;
  reply->reject = static_cast<RejectStat>(reject);
  if (reply->reject == RejectStat::kRpcMismatch) return ReadMismatch(words, reply);
  if (!words.Read(&auth)) return ReplyError::kTruncated;
  reply->auth = static_cast<AuthStat>(auth);
  return ReplyError::kNone;
}

}  // namespace

uint32_t WriteCall(uint8_t* to, uint32_t xid, uint32_t program, uint32_t version,
                   uint32_t procedure) {
  const uint32_t words[] = {
      xid, static_cast<uint32_t>(MessageType::kCall), kRpcVersion, program, version, procedure};
  for (uint32_t i = 0; i < 6; ++i) packet::StoreBe32(to + 4 * i, words[i]);
  std::memset(to + 24, 0, kCallBytes - 24);  // Credential and verifier of AUTH_NONE.
  return kCallBytes;
}

ReplyError ReadReply(const uint8_t* message, uint32_t bytes, Reply* reply) {
  *reply = {};
  Words words(message, bytes);
  uint32_t type = 0, stat = 0;
  if (!words.Read(&reply->xid) || !words.Read(&type)) return ReplyError::kTruncated;
  if (type != static_cast<uint32_t>(MessageType::kReply)) return ReplyError::kNotAReply;
  if (!words.Read(&stat)) return ReplyError::kTruncated;
  if (stat > static_cast<uint32_t>(ReplyStat::kDenied)) return ReplyError::kUnknown;
  reply->stat = static_cast<ReplyStat>(stat);
  return reply->stat == ReplyStat::kAccepted ? ReadAccepted(words, reply)
                                             : ReadDenied(words, reply);
}

std::string_view ReplyErrorName(ReplyError error) {
  switch (error) {
    case ReplyError::kNone:
      return "none";
    case ReplyError::kTruncated:
      return "truncated";
    case ReplyError::kNotAReply:
      return "not_a_reply";
    case ReplyError::kBadVerifier:
      return "bad_verifier";
    case ReplyError::kUnknown:
      return "unknown_state";
  }
  return "unknown";
}

}  // namespace sluice::rpc

// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/client/memcached_messages.h"

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "packet/bytes.h"

namespace sluice::engine::kv::client {

namespace {

using packet::LoadBe16;
using packet::LoadBe32;

constexpr size_t kFrameBytes = 8;
constexpr size_t kBinaryBytes = 24;  // Header of a binary message.
constexpr uint8_t kBinaryRequest = 0x80, kBinaryAnswer = 0x81;
constexpr uint8_t kBinaryGet = 0x00, kBinarySet = 0x01;
constexpr uint16_t kBinaryOk = 0, kBinaryNotFound = 1;
constexpr size_t kSetExtras = 8;  // Flags and expiry.
constexpr size_t kGetExtras = 4;  // Flags in the answer.

// Appends bytes while there is room.
class Writer {
 public:
  explicit Writer(std::span<uint8_t> room) : room_(room) {}

  Writer& Add(Bytes bytes) {
    if (bytes.size() > room_.size() - size_) good_ = false;
    if (good_ && !bytes.empty()) std::memcpy(room_.data() + size_, bytes.data(), bytes.size());
    if (good_) size_ += bytes.size();
    return *this;
  }
  Writer& Add(std::string_view text) {
    return Add(Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }
  size_t size() const { return good_ ? size_ : 0; }

 private:
  std::span<uint8_t> room_;
  size_t size_ = 0;
  bool good_ = true;
};

size_t Digits(size_t number) { return number < 10 ? 1 : 1 + Digits(number / 10); }

void WriteAscii(const Request& request, Writer& writer) {
  if (!request.set) {
    writer.Add("get ").Add(request.key).Add("\r\n");
    return;
  }
  std::array<char, 20> digits;
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), request.value.size()).ptr;
  writer.Add("set ").Add(request.key).Add(" 0 0 ");
  writer.Add(std::string_view(digits.data(), end)).Add("\r\n").Add(request.value).Add("\r\n");
}

void WriteBinary(const Request& request, Writer& writer) {
  const size_t extras = request.set ? kSetExtras : 0;
  std::array<uint8_t, kBinaryBytes + kSetExtras> head = {};
  head[0] = kBinaryRequest;
  head[1] = request.set ? kBinarySet : kBinaryGet;
  head[4] = static_cast<uint8_t>(extras);
  packet::StoreBe16(&head[2], static_cast<uint16_t>(request.key.size()));
  const size_t value_bytes = request.set ? request.value.size() : 0;
  packet::StoreBe32(&head[8], static_cast<uint32_t>(extras + request.key.size() + value_bytes));
  packet::Store(&head[12], request.id);  // Opaque; the server does not interpret it.
  writer.Add(Bytes(head).first(kBinaryBytes + extras)).Add(request.key);
  if (request.set) writer.Add(request.value);
}

// The unread part of a text.
class Reader {
 public:
  explicit Reader(Bytes bytes) : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  bool Skip(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool SkipWord() {
    const size_t end = text_.find(' ');
    if (end == 0 || end == std::string_view::npos) return false;
    text_.remove_prefix(end + 1);
    return true;
  }
  bool Number(uint32_t* number) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), *number);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return true;
  }
  bool Read(size_t bytes, Bytes* taken) {
    if (bytes > text_.size()) return false;
    *taken = Bytes(reinterpret_cast<const uint8_t*>(text_.data()), bytes);
    text_.remove_prefix(bytes);
    return true;
  }
  bool AtEnd() const { return text_.empty(); }
  bool IsLine() const { return text_.ends_with("\r\n"); }

 private:
  std::string_view text_;
};

bool ReadAscii(Bytes text, Answer* answer) {
  Reader reader(text);
  if (reader.Skip("STORED\r\n")) {
    answer->outcome = Outcome::kStored;
  } else if (reader.Skip("END\r\n")) {
    answer->outcome = Outcome::kMiss;
  } else if (reader.Skip("VALUE ")) {
    uint32_t bytes = 0;
    if (!reader.SkipWord() || !reader.SkipWord() || !reader.Number(&bytes) ||
        !reader.Skip("\r\n") || !reader.Read(bytes, &answer->value) ||
        !reader.Skip("\r\nEND\r\n")) {
      return false;
    }
    answer->outcome = Outcome::kHit;
  } else if (reader.IsLine() && (reader.Skip("ERROR") || reader.Skip("CLIENT_ERROR ") ||
                                 reader.Skip("SERVER_ERROR ") || reader.Skip("NOT_STORED"))) {
    answer->outcome = Outcome::kError;
    return true;
  } else {
    return false;
  }
  return reader.AtEnd();
}

bool ReadBinary(Bytes message, Answer* answer) {
  if (message.size() < kBinaryBytes || message[0] != kBinaryAnswer) return false;
  const size_t key_bytes = LoadBe16(&message[2]);
  const size_t extras = message[4];
  const uint16_t status = LoadBe16(&message[6]);
  const size_t body = LoadBe32(&message[8]);
  if (body != message.size() - kBinaryBytes || key_bytes + extras > body) return false;
  answer->id = packet::Load<uint32_t>(&message[12]);
  if (status != kBinaryOk) {
    answer->outcome =
        message[1] == kBinaryGet && status == kBinaryNotFound ? Outcome::kMiss : Outcome::kError;
  } else if (message[1] == kBinaryGet && extras == kGetExtras) {
    answer->outcome = Outcome::kHit;
    answer->value = message.subspan(kBinaryBytes + extras + key_bytes);
  } else if (message[1] == kBinarySet) {
    answer->outcome = Outcome::kStored;
  } else {
    return false;
  }
  return true;
}

}  // namespace

size_t MemcachedLongest(Protocol protocol, size_t key_bytes, size_t value_bytes) {
  if (protocol == Protocol::kMemcachedBinary) {
    return kFrameBytes + kBinaryBytes + kSetExtras + key_bytes + value_bytes;
  }
  // The answer "VALUE " key " 0 " bytes "\r\n" value "\r\nEND\r\n" is longer than the set.
  return kFrameBytes + 6 + key_bytes + 3 + Digits(value_bytes) + 2 + value_bytes + 7;
}

size_t WriteMemcached(Protocol protocol, const Request& request, std::span<uint8_t> room) {
  std::array<uint8_t, kFrameBytes> frame = {};
  packet::StoreBe16(&frame[0], static_cast<uint16_t>(request.id));
  packet::StoreBe16(&frame[4], 1);
  Writer writer(room);
  writer.Add(frame);
  if (protocol == Protocol::kMemcachedBinary) {
    WriteBinary(request, writer);
  } else {
    WriteAscii(request, writer);
  }
  return writer.size();
}

std::optional<Answer> ReadMemcached(Protocol protocol, Bytes datagram) {
  if (datagram.size() < kFrameBytes || LoadBe16(&datagram[2]) != 0 || LoadBe16(&datagram[4]) != 1) {
    return std::nullopt;
  }
  Answer answer;
  answer.id = LoadBe16(&datagram[0]);
  const Bytes message = datagram.subspan(kFrameBytes);
  const bool good = protocol == Protocol::kMemcachedBinary ? ReadBinary(message, &answer)
                                                           : ReadAscii(message, &answer);
  if (!good) return std::nullopt;
  return answer;
}

}  // namespace sluice::engine::kv::client

// SPDX-License-Identifier: BSD-3-Clause
#include "sample.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "packet/bytes.h"
#include "packet/capture.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/frame.h"

namespace sluice::logmon {

namespace {

using engine::logmon::Transport;
using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint32_t kMaxFrame = 1518 - packet::kFcsBytes;
constexpr std::array<uint8_t, 12> kMacs{2, 0x53, 0x6c, 0x6c, 0x6d, 1, 2, 0x53, 0x6c, 0x67, 0x65, 1};
constexpr uint32_t kUs = 0xc0000201;       // Destination: 192.0.2.1 (RFC 5737).
constexpr uint32_t kSenders = 0xc6336400;  // Senders: 198.51.100.0 and following addresses.
constexpr uint32_t kIp = packet::kEthernetHeaderBytes;
constexpr uint32_t kL4 = kIp + packet::kIpv4MinHeaderBytes;
constexpr uint32_t kTcpHeader = 20;
constexpr uint8_t kFin = 1, kSyn = 2, kPush = 8, kAck = 16;

// Initial sequence numbers of a sender's two TCP streams. The streams use the same ports, so the
// numbers are far apart.
constexpr std::array<uint32_t, 2> kInitial{1, 0x80000001};

// A sender: its number, its text, and the position in its TCP stream.
struct Sender {
  uint32_t number;
  std::string text;
  uint32_t sequence = kInitial.front();
};

class Writer {
 public:
  Writer(const SampleOptions& options, packet::CaptureWriter capture)
      : options_(options), capture_(std::move(capture)) {}

  void Datagram(const Sender& sender, std::string_view payload) {
    uint8_t* const udp = Begin(sender, packet::kProtocolUdp, packet::kUdpHeaderBytes, payload);
    StoreBe16(udp + 4, static_cast<uint16_t>(packet::kUdpHeaderBytes + payload.size()));
    Finish(packet::kProtocolUdp, udp + 6, packet::kUdpHeaderBytes + payload.size());
  }
  void Segment(Sender& sender, uint8_t flags, std::string_view payload) {
    uint8_t* const tcp = Begin(sender, packet::kProtocolTcp, kTcpHeader, payload);
    StoreBe32(tcp + 4, sender.sequence);
    StoreBe32(tcp + 8, 1);
    tcp[12] = kTcpHeader / 4 << 4;
    tcp[13] = flags;
    StoreBe16(tcp + 14, 0xffff);
    Finish(packet::kProtocolTcp, tcp + 16, kTcpHeader + payload.size());
    sender.sequence += static_cast<uint32_t>(payload.size()) + ((flags & (kSyn | kFin)) != 0);
  }
  bool Close(std::string* error) { return capture_.Close(error); }

 private:
  uint8_t* Begin(const Sender& sender, uint8_t protocol, uint32_t header,
                 std::string_view payload) {
    const uint32_t bytes =
        packet::kIpv4MinHeaderBytes + header + static_cast<uint32_t>(payload.size());
    length_ = std::max(kIp + bytes, 60u);
    frame_.fill(0);
    std::ranges::copy(kMacs, frame_.begin());
    StoreBe16(frame_.data() + 12, packet::kEtherTypeIpv4);
    uint8_t* const ip = frame_.data() + kIp;
    ip[0] = 0x45;
    StoreBe16(ip + 2, static_cast<uint16_t>(bytes));
    ip[8] = 64;
    ip[9] = protocol;
    StoreBe32(ip + 12, kSenders + sender.number);
    StoreBe32(ip + 16, kUs);
    packet::Store(ip + 10, packet::FinishChecksum(packet::SumBytes(ip, 20)));
    uint8_t* const l4 = frame_.data() + kL4;
    StoreBe16(l4, static_cast<uint16_t>(1024 + sender.number % 60'000));
    StoreBe16(l4 + 2, options_.port);
    std::ranges::copy(payload, l4 + header);
    return l4;
  }
  void Finish(uint8_t protocol, uint8_t* checksum, size_t bytes) {
    const auto length = static_cast<uint32_t>(bytes);
    const uint64_t pseudo = packet::PseudoHeaderSumIpv4(frame_.data() + kIp, protocol, length);
    const uint16_t sum =
        packet::FinishChecksum(packet::SumBytes(frame_.data() + kL4, length, pseudo));
    packet::Store<uint16_t>(checksum, sum != 0 ? sum : 0xffff);
    capture_.Write({frame_.data(), length_, length_, 0});
  }

  const SampleOptions& options_;
  packet::CaptureWriter capture_;
  std::array<uint8_t, kMaxFrame> frame_{};
  uint32_t length_ = 0;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// Returns the lines of a file as messages, without line ends (LF, CR LF or CR).
std::vector<std::string_view> MessagesOf(std::string_view text) {
  std::vector<std::string_view> messages;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    messages.push_back(text.substr(0, end));
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<size_t>(1, text.size()));
  }
  return messages;
}

// Writes RFC 5424 messages with facility user and severity notice; time, process ID and message ID
// are nil.
void WriteSyslog(const std::string& text, const std::vector<Sender>& senders, uint32_t room,
                 Writer& writer) {
  size_t next = 0;
  for (const std::string_view message : MessagesOf(text)) {
    const Sender& sender = senders[next++ % senders.size()];
    const std::string datagram =
        absl::StrFormat("<13>1 - host-%d sample - - - %s", sender.number, message);
    writer.Datagram(sender, std::string_view(datagram).substr(0, room));
  }
}

void DealOut(const std::string& text, std::vector<Sender>& senders) {
  size_t next = 0;
  for (const std::string_view line : LinesOf(text)) {
    senders[next++ % senders.size()].text += line;
  }
}

// Writes the text of every sender in pieces, round-robin.
void WriteStreams(std::vector<Sender>& senders, uint32_t room, bool tcp, Writer& writer) {
  if (tcp) {
    for (Sender& sender : senders) writer.Segment(sender, kSyn, "");
  }
  bool more = true;
  for (size_t at = 0; more; at += room) {
    more = false;
    for (Sender& sender : senders) {
      if (at >= sender.text.size()) continue;
      const std::string_view piece = std::string_view(sender.text).substr(at, room);
      more = true;
      tcp ? writer.Segment(sender, kPush | kAck, piece) : writer.Datagram(sender, piece);
    }
  }
  if (tcp) {
    for (Sender& sender : senders) writer.Segment(sender, kFin | kAck, "");
  }
}

}  // namespace

bool WriteSample(const std::string& text, const SampleOptions& options, const std::string& path,
                 std::string* error) {
  auto capture = packet::CaptureWriter::Open(path, packet::CaptureWriter::Resolution::kNanoseconds,
                                             kMaxFrame, error);
  if (!capture) return false;
  Writer writer(options, *std::move(capture));
  std::vector<Sender> senders;
  for (uint32_t i = 0; i < options.sources; ++i) senders.push_back({.number = i, .text = {}});
  const bool tcp = options.transport == Transport::kTcp;
  const uint32_t header = tcp ? kTcpHeader : packet::kUdpHeaderBytes;
  const uint32_t room = options.frame_bytes - packet::kFcsBytes - kL4 - header;
  if (options.transport == Transport::kSyslog) {
    WriteSyslog(text, senders, room, writer);
  } else {
    DealOut(text, senders);
    WriteStreams(senders, room, tcp, writer);
    if (tcp && !options.once) {
      for (Sender& sender : senders) sender.sequence = kInitial.back();
      WriteStreams(senders, room, tcp, writer);
    }
  }
  return writer.Close(error);
}

namespace {

constexpr std::array<std::string_view, 6> kUsers{"root", "admin", "anna", "backup", "git", "ivo"};
constexpr std::array<std::string_view, 6> kPaths{"/",      "/cart",         "/item/17",
                                                 "/login", "/api/v1/flows", "/img/logo.png"};
constexpr std::array<int, 10> kStatuses{200, 200, 200, 200, 200, 204, 304, 404, 500, 503};

class Author {
 public:
  explicit Author(uint64_t seed) : random_(seed) {}

  std::string Line() {
    const uint32_t kind = Below(100);
    if (kind < 40) return Access();
    if (kind < 65) return Login();
    if (kind < 95) return Service();
    return Kernel();
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  template <typename Choices>
  auto Pick(const Choices& choices) {
    return choices[Below(choices.size())];
  }
  std::string Address() {
    return absl::StrFormat("198.51.%d.%d", 100 + Below(4), 1 + Below(254));  // RFC 5737.
  }

  std::string Access() {
    return absl::StrFormat(
        R"({"ip": "%s", "path": "%s", "status": %d, "bytes": %d, "latency": %.3f})", Address(),
        Pick(kPaths), Pick(kStatuses), 100 + Below(60'000), 0.2 + Below(90'000) / 1000.0);
  }
  std::string Login() {
    const uint32_t port = 1024 + Below(60'000);
    switch (Below(6)) {
      case 0:
        return absl::StrFormat("sshd[%d]: Failed password for %s from %s port %d ssh2",
                               1000 + Below(9000), Pick(kUsers), Address(), port);
      case 1:
        return absl::StrFormat("sshd[%d]: Invalid user %s from %s port %d", 1000 + Below(9000),
                               Pick(kUsers), Address(), port);
      default:
        return absl::StrFormat("sshd[%d]: Accepted publickey for %s from %s port %d ssh2",
                               1000 + Below(9000), Pick(kUsers), Address(), port);
    }
  }
  std::string Service() {
    switch (Below(12)) {
      case 0:
        return absl::StrFormat("[ERROR %d] request %08x failed after %d ms", 400 + Below(120),
                               Below(~0u), Below(5000));
      case 1:
        return absl::StrFormat("[WARN] pool %d is %d%% full", Below(16), 80 + Below(20));
      default:
        return absl::StrFormat("[INFO] request %08x done in %d ms, queue %d", Below(~0u),
                               Below(900), Below(64));
    }
  }
  std::string Kernel() {
    return absl::StrFormat("kernel: [%d.%06d] eth%d: link is %s", Below(900'000), Below(1'000'000),
                           Below(4), Below(2) == 0 ? "up" : "down");
  }

  std::mt19937_64 random_;
};

}  // namespace

std::string SampleText(uint64_t bytes, uint64_t seed) {
  Author author(seed);
  std::string text;
  while (text.size() < bytes) text += author.Line() + '\n';
  return text;
}

}  // namespace sluice::logmon

// SPDX-License-Identifier: BSD-3-Clause
#include "registration.h"

#include <gflags/gflags.h>

#include <utility>

#include "engine/kv/client/server_list.h"
#include "runtime/command_line.h"

DECLARE_string(ip);
DECLARE_uint32(mica_port);
DECLARE_uint32(memcached_port);

DEFINE_string(register, "",
              "etcd, as HOST:PORT/PREFIX, in which this server registers while it runs; clients "
              "find it with --servers_etcd");
DEFINE_string(
    register_as, "",
    "With --register: value of the entry, host:port, followed by /?weight if weights differ; "
    "empty: the first address of --ip with MICA's port, or with memcached's if MICA is not served");
DEFINE_uint32(
    register_lease_s, 10,
    "With --register: seconds after which the entry expires if this process dies, 2 to 3600");

namespace sluice::kv {

namespace {

using engine::kv::client::RingServer;
using etcd::Registration;

// Formats HOST:PORT, with an IPv6 address in brackets.
std::string HostPort(const std::string& host, uint32_t port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

bool ReadRegistration(std::optional<Registration::Entry>* entry, std::string* flag,
                      std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  const bool wanted = !FLAGS_register.empty();
  const uint32_t port = FLAGS_mica_port != 0 ? FLAGS_mica_port : FLAGS_memcached_port;
  const auto address = etcd::Address::Read(FLAGS_register);
  if (!complaint.Check(!wanted || address.has_value(), "register", etcd::kAddressFix) ||
      !complaint.Check(wanted || FLAGS_register_as.empty(), "register_as",
                       "requires --register: add it, or omit --register_as") ||
      !complaint.Check(FLAGS_register_lease_s >= Registration::kLeastLeaseS &&
                           FLAGS_register_lease_s <= Registration::kMostLeaseS,
                       "register_lease_s", "give 2 to 3600") ||
      !complaint.Check(!wanted || !FLAGS_register_as.empty() || (!FLAGS_ip.empty() && port != 0),
                       "register",
                       "the server's address is unknown: give --register_as, or --ip and "
                       "--mica_port or --memcached_port")) {
    return false;
  }
  if (!wanted) return true;
  const std::string value = !FLAGS_register_as.empty()
                                ? FLAGS_register_as
                                : HostPort(FLAGS_ip.substr(0, FLAGS_ip.find(',')), port);
  const auto servers =
      engine::kv::client::ReadServers({value}, {.default_port = static_cast<uint16_t>(port)}, fix);
  if (!servers) {
    *flag = "register_as";
    return false;
  }
  const RingServer& server = servers->front();
  *entry = {.address = *address,
            .name = HostPort(server.host, server.port),
            .value = value,
            .lease_s = FLAGS_register_lease_s};
  return true;
}

}  // namespace sluice::kv

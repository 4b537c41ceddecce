// SPDX-License-Identifier: BSD-3-Clause
//
// A tc program that makes a veth pair behave like a wire, which carries only bytes. A veth also
// passes the hash of the sender's socket. A router with fib_multipath_hash_policy=1 would
// distribute flows by this hash, and the sender changes it at each retransmission until a path
// works.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int wire(struct __sk_buff* packet) {
  bpf_set_hash_invalid(packet);
  return TC_ACT_OK;
}

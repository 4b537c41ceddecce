// SPDX-License-Identifier: BSD-3-Clause
//
// tc: makes a veth pair more like a wire, which carries bytes and nothing else. A veth hands on the
// hash of the sender's socket too; a router with fib_multipath_hash_policy=1 would spread flows by
// it, and the sender draws a new one whenever it sends again, until a way is found that works.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int wire(struct __sk_buff* packet) {
  bpf_set_hash_invalid(packet);
  return TC_ACT_OK;
}

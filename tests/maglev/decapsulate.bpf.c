// SPDX-License-Identifier: BSD-3-Clause
//
// An XDP program that removes the outer header of IPv4-in-IPv4, IPv4-in-IPv6 and IPv6-in-IPv6
// packets and passes the inner packet to the kernel. A backend needs the program if the kernel has
// no ipip device. All other packets pass unchanged, including outer packets that are fragments or
// have options.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Returns the length of the outer header and sets `*inner` to the EtherType of the inner packet.
// Returns 0 if the packet is not encapsulated.
static __always_inline int OuterLength(const struct ethhdr* ethernet, const void* end,
                                       __be16* inner) {
  const struct iphdr* ipv4 = (const void*)(ethernet + 1);
  const struct ipv6hdr* ipv6 = (const void*)(ethernet + 1);
  __u8 protocol;
  int length;
  if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
    if ((const void*)(ipv4 + 1) > end || ipv4->ihl != 5) return 0;
    if (ipv4->frag_off & bpf_htons(0x3fff)) return 0;
    protocol = ipv4->protocol;
    length = sizeof(*ipv4);
  } else if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) {
    if ((const void*)(ipv6 + 1) > end) return 0;
    protocol = ipv6->nexthdr;
    length = sizeof(*ipv6);
  } else {
    return 0;
  }
  if (protocol != IPPROTO_IPIP && protocol != IPPROTO_IPV6) return 0;
  *inner = protocol == IPPROTO_IPIP ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
  return length;
}

SEC("xdp")
int decapsulate(struct xdp_md* context) {
  const struct ethhdr* old = (const void*)(long)context->data;
  const void* end = (const void*)(long)context->data_end;
  if ((const void*)(old + 1) > end) return XDP_PASS;
  struct ethhdr header = *old;
  __be16 inner;
  const int length = OuterLength(old, end, &inner);
  if (length == 0) return XDP_PASS;
  header.h_proto = inner;
  if (bpf_xdp_adjust_head(context, length) != 0) return XDP_DROP;
  struct ethhdr* ethernet = (void*)(long)context->data;
  if ((void*)(ethernet + 1) > (void*)(long)context->data_end) return XDP_DROP;
  *ethernet = header;
  return XDP_PASS;
}

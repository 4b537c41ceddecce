/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd_client ADDRESS PORT CALLS: calls the service of odd.x through rpcgen's stubs and libtirpc
 * over UDP, and checks every answer; the second half of the calls uses AUTH_SYS. If PORT is 0, the
 * port mapper returns the service's port; otherwise ADDRESS is an IPv4 address. Two calls and their
 * results are longer than a frame. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odd.h"

static int turns_well(CLIENT *client, unsigned seed) {
  shape sent, *got;
  u_int sides[4], i;
  char name[21];
  int good = 0;
  memset(&sent, 0, sizeof(sent));
  sent.kind = seed % 3 == 0 ? RED : seed % 3 == 1 ? BLUE : 9;
  if (sent.kind == RED) {
    for (i = 0; i < 1 + seed % 20; ++i) name[i] = 'a' + (seed + i) % 26;
    name[i] = '\0';
    sent.shape_u.name = name;
  } else if (sent.kind == BLUE) {
    sent.shape_u.sides.sides_len = seed % 5;
    sent.shape_u.sides.sides_val = sides;
    for (i = 0; i < 4; ++i) sides[i] = seed * 2654435761u + i;
  }
  got = turn_1(&sent, client);
  if (got == NULL || got->kind != sent.kind) return 0;
  if (sent.kind == RED) {
    good = strcmp(got->shape_u.name, name + 1) == 0;
  } else if (sent.kind == BLUE) {
    good = got->shape_u.sides.sides_len == seed % 5;
    for (i = 0; good && i < seed % 5; ++i) good = got->shape_u.sides.sides_val[i] == 2 * sides[i];
  } else {
    good = 1;
  }
  clnt_freeres(client, (xdrproc_t)xdr_shape, (char *)got);
  return good;
}

/* Makes a call of `sent` bytes with a result of `bytes`. Returns whether the result is right. */
static int repeats_well(CLIENT *client, u_int sent, u_int bytes) {
  static char pattern[60000];
  struct timeval patience = {20, 0};
  repetition asked = {bytes, {sent, pattern}};
  bulk got = {0, NULL};
  u_int i;
  for (i = 0; i < sent; ++i) pattern[i] = (char)(7 * i + i / 256);
  if (clnt_call(client, REPEAT, (xdrproc_t)xdr_repetition, (char *)&asked, (xdrproc_t)xdr_bulk,
                (char *)&got, patience) != RPC_SUCCESS) {
    return 0;
  }
  if (got.bulk_len != bytes) return 0;
  for (i = 0; i < bytes; ++i) {
    if (got.bulk_val[i] != pattern[i % sent]) return 0;
  }
  return 1;
}

/* If the port mapper is used, libtirpc sends datagrams of its default size. */
static int carries_long_messages(CLIENT *client, int port) {
  if (port == 0) return repeats_well(client, 8000, 8700);
  return repeats_well(client, 8192, 60000) && repeats_well(client, 60000, 8192);
}

static CLIENT *client_of(char **argv, unsigned version) {
  struct sockaddr_in server = {0};
  struct timeval patience = {2, 0};
  int socket = RPC_ANYSOCK;
  const int port = atoi(argv[2]);
  CLIENT *client;
  if (port == 0) {
    client = clnt_create(argv[1], ODD_PROGRAM, version, "udp");
  } else {
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = inet_addr(argv[1]);
    server.sin_port = htons((unsigned short)port);
    client = clntudp_bufcreate(&server, ODD_PROGRAM, version, patience, &socket, 65000, 65000);
  }
  if (client == NULL) {
    printf("%s\n", clnt_spcreateerror("no client"));
    exit(1);
  }
  return client;
}

int main(int argc, char **argv) {
  unsigned calls, good = 0, i;
  CLIENT *client;
  if (argc != 4) return 2;
  calls = (unsigned)atoi(argv[3]);
  client = client_of(argv, ODD_VERSION);
  for (i = 0; i < calls; ++i) {
    if (i == calls / 2) {
      auth_destroy(client->cl_auth);
      client->cl_auth = authunix_create_default();
    }
    good += turns_well(client, i);
  }
  /* A handler that fails, and an unknown version. */
  printf("good %u\n", good);
  printf("fail: %s\n", fail_1(NULL, client) == NULL ? clnt_sperror(client, "") : "nothing");
  printf("long: %s\n", carries_long_messages(client, atoi(argv[2])) ? "good"
                                                                    : clnt_sperror(client, "bad"));
  auth_destroy(client->cl_auth);
  clnt_destroy(client);
  client = client_of(argv, 7);
  printf("version: %s\n", fine_1(NULL, client) == NULL ? clnt_sperror(client, "") : "nothing");
  clnt_destroy(client);
  return good == calls ? 0 : 1;
}

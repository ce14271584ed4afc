/* The relay ring of one hop as a program of its own: a process that sends itself a message over a fresh connection.
 *
 *     ring PORT ITERATIONS
 *
 * Blocking sockets; the same calls in the same order as vtax's master, the same of them timed. Prints the mean round in ns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_BYTES 4
#define INTERFACE "lo"

static uint64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void must(int done, const char *what)
{
	if (done < 0) {
		perror(what);
		exit(1);
	}
}

static int make_socket(void)
{
	int on = 1, made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	must(made, "socket");
	must(setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
	must(setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
	must(setsockopt(made, SOL_SOCKET, SO_BINDTODEVICE, INTERFACE, sizeof INTERFACE), "SO_BINDTODEVICE");
	return made;
}

static void limit_waits(int of)
{
	struct timeval limit = { .tv_sec = 2 };
	must(setsockopt(of, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "SO_RCVTIMEO");
	must(setsockopt(of, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), "SO_SNDTIMEO");
}

int main(int count, char **arguments)
{
	if (count != 3)
		return 2;
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])) };
	uint32_t iterations = atoi(arguments[2]);
	uint64_t *ns = calloc(iterations, sizeof *ns), sum = 0;
	char message[MESSAGE_BYTES], received[MESSAGE_BYTES + 1], end;
	int listener = make_socket();

	memset(ns, 0xff, iterations * sizeof *ns);
	inet_pton(AF_INET, "127.0.0.1", &here.sin_addr);
	must(bind(listener, (struct sockaddr *)&here, sizeof here), "bind");
	limit_waits(listener);
	must(listen(listener, 4096), "listen");
	for (uint32_t sequence = 0; sequence < iterations; sequence++) {
		memcpy(message, &sequence, sizeof message);
		int out = make_socket();
		limit_waits(out);

		uint64_t begun = now_ns();
		must(connect(out, (struct sockaddr *)&here, sizeof here), "connect");
		must(send(out, message, sizeof message, MSG_NOSIGNAL), "send");
		int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		must(in, "accept");
		must(recv(in, received, sizeof received, 0) == MESSAGE_BYTES ? 0 : -1, "recv");
		ns[sequence] = now_ns() - begun;

		if (memcmp(message, received, sizeof message) != 0)
			return 1;
		close(in);
		must(recv(out, &end, 1, 0), "end");
		close(out);
	}
	for (uint32_t sequence = 0; sequence < iterations; sequence++)
		sum += ns[sequence];
	printf("%.1f\n", (double)sum / iterations);
	return 0;
}

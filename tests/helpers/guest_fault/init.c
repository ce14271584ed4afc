/* A guest's init that becomes the agent's, and has a child do harm once frames flow: what harm, the file /fault says. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* So many frames of a trial's measured phase have come when it happens. */
#define FLOWING 100
/* The test frame behind Ethernet, IPv4 and UDP (agent/src/traffic/frame/mod.rs). */
#define HEADER_BYTES 42
#define FRAME_MAGIC 0x76746178
#define PHASE_AT 8
#define PHASE_MEASURE 3
#define STEP_S 5

static void put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, text, strlen(text)) < 0)
		perror(path);
	close(file);
}

/* However slow the guest: readiness probes are of another phase, and no test has frames with more headers. */
static void await_traffic(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HEADER_BYTES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FRAME_MAGIC, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, HEADER_BYTES + PHASE_AT),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PHASE_MEASURE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PHASE_MEASURE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	int measured = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
	char first;

	if (measured < 0 || setsockopt(measured, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		perror("await_traffic");
	for (int frames = 0; frames < FLOWING; frames++)
		if (recv(measured, &first, 1, 0) < 0) {
			perror("recv");
			break;
		}
	close(measured);
}

static void crash(void)
{
	put("/proc/sys/kernel/sysrq", "1");
	put("/proc/sysrq-trigger", "c");
}

/* A kernel that is told not to restart after a panic spins for good. */
static void hang(void)
{
	put("/proc/sys/kernel/panic", "0");
	crash();
}

static void eat_memory(void)
{
	const size_t step = 1 << 20, page = 4096;
	volatile char *piece;

	while ((piece = malloc(step)))
		for (size_t at = 0; at < step; at += page)
			piece[at] = 1;
}

static void lose_nic(void)
{
	put("/sys/class/net/eth0/device/../remove", "1");
}

/* The agent is the only other child of process 1. */
static void kill_agent(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while ((entry = readdir(processes))) {
		char path[300], line[512] = "";
		int pid = atoi(entry->d_name), parent = 0;
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		stat = pid > 1 && pid != getpid() ? fopen(path, "r") : NULL;
		if (!stat)
			continue;
		if (fgets(line, sizeof(line), stat) && sscanf(strrchr(line, ')'), ") %*c %d", &parent) == 1 && parent == 1)
			kill(pid, SIGKILL);
		fclose(stat);
	}
}

static void step_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += STEP_S;
	clock_settime(CLOCK_REALTIME, &now);
}

static const struct {
	const char *name;
	void (*happen)(void);
} faults[] = {
	{ "panic", crash },
	{ "hang", hang },
	{ "memory", eat_memory },
	{ "nic", lose_nic },
	{ "agent", kill_agent },
	{ "clock", step_clock },
};

int main(void)
{
	char *const agent[] = { "init", NULL };
	char fault[32] = "";
	FILE *file = fopen("/fault", "r");

	if (!file || !fgets(fault, sizeof(fault), file))
		return 1;
	if (!strcmp(fault, "boot"))
		for (;;)
			pause();
	if (fork())
		return execv("/agent", agent);
	await_traffic();
	for (size_t at = 0; at < sizeof(faults) / sizeof(*faults); at++)
		if (!strcmp(fault, faults[at].name))
			faults[at].happen();
	return 0;
}

/* A guest's init that becomes the agent's, and has a child do harm once frames flow: what harm, the file /fault says. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* More frames than this in a tenth of a second are a trial's: the readiness probe sends 100. */
#define FLOWING 400
#define STEP_S 5

static void put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, text, strlen(text)) < 0)
		perror(path);
	close(file);
}

static unsigned long frames(void)
{
	char line[512], name[32];
	unsigned long packets, sum = 0;
	FILE *devices = fopen("/proc/net/dev", "r");

	while (devices && fgets(line, sizeof(line), devices))
		if (sscanf(line, " %31[^:]: %*u %lu", name, &packets) == 2 && strcmp(name, "lo"))
			sum += packets;
	if (devices)
		fclose(devices);
	return sum;
}

static void await_traffic(void)
{
	unsigned long before, now = frames();

	do {
		before = now;
		usleep(100000);
		now = frames();
	} while (now - before < FLOWING);
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

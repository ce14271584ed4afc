/* Lets user-mode Linux before 6.13 run on CPUs whose register state outgrew its buffer (2696 bytes; AMX has 11 KB).
 *
 * Linux takes a process's extended state back only whole (PTRACE_SETREGSET, NT_X86_XSTATE). Preloaded, this completes
 * what the guest's kernel gives with what the process has: parts that the guest knows nothing of and never uses.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

typedef long (*ptrace_call)(enum __ptrace_request, pid_t, void *, void *);

static long set_whole_state(ptrace_call call, pid_t pid, void *kind, const struct iovec *given)
{
	/* Not on the stack: that is one of the guest kernel's, of 16 KB. */
	static char state[1 << 16];
	struct iovec whole = { state, sizeof(state) };

	if (call(PTRACE_GETREGSET, pid, kind, &whole) < 0)
		return -1;
	memcpy(state, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
	return call(PTRACE_SETREGSET, pid, kind, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call call;
	va_list arguments;

	va_start(arguments, request);
	pid_t pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	if (!call)
		call = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
	if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE)
		return set_whole_state(call, pid, address, data);
	return call(request, pid, address, data);
}

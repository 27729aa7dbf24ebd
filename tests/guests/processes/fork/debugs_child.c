// Debugs a process of its own: its registers, its memory, its system calls. A process that is followed can't be debugged.
// options: -follow 0
// rounds: 0 5
#define _GNU_SOURCE
#include "guest.h"
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { CALLS = 20 };
static volatile uint64_t marker = 41;
static uint64_t sum;

// How much is computed depends on what was told.
static void told(uint64_t what)
{
    for (uint64_t n = what % 500; n > 0; n--)
        sum = mix(sum, what + n);
}

static void debugged(volatile uint64_t *shared)
{
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
        _exit(99);
    raise(SIGSTOP);
    for (int i = 0; i < CALLS; i++)
        syscall(SYS_lseek, -1, i + marker, *shared);
    _exit(marker == 1000 && *shared == 3 ? 5 : 6);
}

static void debug(pid_t child, volatile uint64_t *shared)
{
    struct user_regs_struct registers;
    uint64_t mask, message, set[50];
    siginfo_t info;
    int status;
    struct iovec buffer = {set, sizeof set};
    REQUIRE(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT) == 0);
    REQUIRE(ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &buffer) == 0 && buffer.iov_len == sizeof registers);
    REQUIRE(ptrace(PTRACE_GETREGS, child, 0, &registers) == 0 && memcmp(set, &registers, sizeof registers) == 0);
    told(registers.cs + buffer.iov_len);
    REQUIRE(ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &buffer) == 0);
    REQUIRE(ptrace(PTRACE_GETSIGINFO, child, 0, &info) == 0 && info.si_signo == SIGSTOP);
    REQUIRE(ptrace(PTRACE_GETSIGMASK, child, 8, &mask) == 0);
    told(info.si_signo + mask % 2);
    told(ptrace(PTRACE_PEEKDATA, child, &marker, 0));
    REQUIRE(ptrace(PTRACE_POKEDATA, child, &marker, 1000) == 0 && marker == 41);
    // This may be the debugger's memory as well.
    REQUIRE(ptrace(PTRACE_POKEDATA, child, shared, 3) == 0);
    told(*shared + 100);
    for (int i = 0; i < 2 * CALLS; i++) {
        struct __ptrace_syscall_info call;
        REQUIRE(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 && waitpid(child, &status, 0) == child);
        REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80));
        long size = ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call);
        REQUIRE(size > 24 && call.op == (i % 2 ? 2 : 1));
        told(i % 2 ? (uint64_t)-call.exit.rval : call.entry.args[1] - 1000);
        told(ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, orig_rax), 0));
    }
    REQUIRE(ptrace(PTRACE_CONT, child, 0, 0) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    REQUIRE(ptrace(PTRACE_GETEVENTMSG, child, 0, &message) == 0 && message == 5 << 8);
    told(message);
    REQUIRE(ptrace(PTRACE_DETACH, child, 0, 0) == 0);
}

int main(int argc, char **argv)
{
    uint64_t own;
    volatile uint64_t *shared = &own;
    for (long round = 0; round < rounds(argc, argv); round++) {
        int status;
        if (round == 3) {
            shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            REQUIRE(shared != MAP_FAILED);
        }
        *shared = 2;
        pid_t child = fork();
        if (child == 0)
            debugged(shared);
        REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
        REQUIRE(WIFSTOPPED(status));
        debug(child, shared);
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
        sum = mix(sum, *shared);
    }
    return report("debugs", sum);
}

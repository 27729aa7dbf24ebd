// A tracer follows thousands of calls of its child, as strace and ltrace do: it waits, asks for registers, changes them, and goes on; SIGCHLD comes each time, and nothing comes of it.
// options: -follow 0
// rounds: 5 100
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile uint64_t own, *shared;
static uint64_t sum = 1;
static uint8_t *page_end;

static void told(uint64_t what)
{
    // What was told decides how often this runs.
    for (uint64_t n = what % 5 + 1; n > 0; n--)
        sum = mix(sum, what);
}

static void wait_for(pid_t child)
{
    int status, nothing = -1;
    REQUIRE(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    told(WSTOPSIG(status) & 0x7f);
    // Nothing is written where there is nothing more to tell.
    REQUIRE(waitpid(child, &nothing, WNOHANG) == 0 && nothing == -1);
}

static void look(pid_t child, long round)
{
    struct user_regs_struct registers;
    struct user_fpregs_struct vectors;
    siginfo_t info;
    REQUIRE(ptrace(PTRACE_GETREGS, child, 0, &registers) == 0 && registers.orig_rax == SYS_lseek);
    REQUIRE(ptrace(PTRACE_GETFPREGS, child, 0, &vectors) == 0);
    REQUIRE(ptrace(PTRACE_GETSIGINFO, child, 0, &info) == 0);
    told(registers.rsi);
    told(vectors.mxcsr);
    told(info.si_signo);
    REQUIRE(ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rsi), 0) == (long)registers.rsi);
    REQUIRE(ptrace(PTRACE_POKEUSER, child, offsetof(struct user_regs_struct, r15), registers.r15) == 0);
    REQUIRE(ptrace(PTRACE_SETREGS, child, 0, &registers) == 0);
    REQUIRE(ptrace(PTRACE_POKEDATA, child, &own, round) == 0 && own == 0);
    told(ptrace(PTRACE_PEEKDATA, child, &own, 0));
    // There is room for what the call is, not for what it tells of that, and nothing behind it.
    uint8_t *what = page_end - 1;
    long told_of = ptrace(PTRACE_GET_SYSCALL_INFO, child, 1, what);
    REQUIRE(told_of > 1 && (*what == PTRACE_SYSCALL_INFO_ENTRY || *what == PTRACE_SYSCALL_INFO_EXIT));
    told(*what + told_of);
    struct __ptrace_syscall_info call;
    REQUIRE(ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call) == told_of && call.op == *what);
    told(call.op == PTRACE_SYSCALL_INFO_ENTRY ? call.entry.args[1] : (uint64_t)call.exit.rval);
    if (shared) {
        // It is the tracer's memory as well.
        REQUIRE(ptrace(PTRACE_POKEDATA, child, shared, round + 7) == 0);
        told(*shared);
    }
}

static void trace(long calls)
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        REQUIRE(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
        raise(SIGSTOP);
        for (long i = 0; i < calls; i++)
            syscall(SYS_lseek, -1, i * 3, 0);
        _exit(7);
    }
    wait_for(child);
    REQUIRE(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD) == 0);
    for (long stop = 0; stop < 2 * calls; stop++) {
        REQUIRE(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0);
        wait_for(child);
        look(child, stop);
    }
    REQUIRE(ptrace(PTRACE_CONT, child, 0, 0) == 0);
    // The child is gone by that, though its status can't be told.
    REQUIRE(syscall(SYS_wait4, child, 8, 0, 0) == -1 && errno == EFAULT);
    REQUIRE(waitpid(child, 0, 0) == -1 && errno == ECHILD);
    told(errno);
}

int main(int argc, char **argv)
{
    long calls = 10 * rounds(argc, argv);
    uint8_t *page = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED && munmap(page + 4096, 4096) == 0);
    page_end = page + 4096;
    trace(calls);
    shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    trace(calls / 100 + 1);
    return report("traced", sum);
}

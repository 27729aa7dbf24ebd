// What the kernel and the processor know of a program that waits in a read: handlers, an alternate stack, blocked and pending signals, rounding. Where the
// read gives a `!`, superpin has let the program go meanwhile: then nothing of it is there.
// rounds: 0 1
// build plain: -O1
#define _GNU_SOURCE
#include "bubble.h"
#include <signal.h>

static char stack[1 << 16];
static volatile sig_atomic_t on_stack, came;

static void handler(int signal, siginfo_t *info, void *context)
{
    char here;
    (void)context;
    on_stack += &here > stack && &here < stack + sizeof stack;
    came = came * 100 + signal + (info->si_code == SI_TKILL || info->si_code == SI_USER);
}

int main(int argc, char **argv)
{
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK}, is;
    sigset_t blocked, waiting;
    char byte;
    REQUIRE(sigaltstack(&alternate, 0) == 0);
    REQUIRE(sigaction(SIGUSR1, &action, 0) == 0 && sigaction(SIGUSR2, &action, 0) == 0 && sigaction(SIGFPE, &action, 0) == 0);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTRAP, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGFPE);
    REQUIRE(sigprocmask(SIG_BLOCK, &blocked, 0) == 0);
    raise(SIGUSR2);
    raise(SIGFPE);
    // Rounding upwards.
    __builtin_ia32_ldmxcsr(0x5f80);
    volatile double one = 1, three = 3;
    double third = one / three;

    if (argc > 2)
        fprintf(stderr, "ready %d\n", getpid());
    int given = read(0, &byte, 1);

    uint64_t sum = 0;
    for (long i = 0; i < 20000 * rounds(argc, argv); i++)
        sum = mix(sum, i);
    report("work", sum);
    printf("rounding %d %d\n", (__builtin_ia32_stmxcsr() & 0x6000) == 0x4000, one / three == third);
    REQUIRE(sigprocmask(SIG_BLOCK, 0, &blocked) == 0 && sigpending(&waiting) == 0);
    printf("blocks %d %d %d, waits %d\n", sigismember(&blocked, SIGUSR1), sigismember(&blocked, SIGUSR2),
           sigismember(&blocked, SIGFPE), sigismember(&waiting, SIGUSR2));
    REQUIRE(sigaction(SIGUSR1, 0, &is) == 0);
    printf("handler %d %x\n", is.sa_sigaction == handler, is.sa_flags & ~0x04000000);
    REQUIRE(sigaction(SIGHUP, 0, &is) == 0);
    printf("ignores %d", is.sa_handler == SIG_IGN);
    REQUIRE(sigaction(SIGTRAP, 0, &is) == 0);
    printf(" %d\n", is.sa_handler == SIG_IGN);
    REQUIRE(sigaltstack(0, &now) == 0);
    printf("stack %d %zu\n", now.ss_sp == stack, now.ss_size);
    raise(SIGUSR1);
    sigdelset(&blocked, SIGFPE);
    REQUIRE(sigprocmask(SIG_SETMASK, &blocked, 0) == 0 && sigprocmask(SIG_UNBLOCK, &blocked, 0) == 0);
    printf("came %d, %d on the stack\n", came, on_stack);
    if (given == 1 && byte == '!')
        printf("left %d\n", bubble_lines());
    return 5;
}

// prctl(PR_SET_TSC): rdtsc and rdtscp raise SIGSEGV while the app wants that, in processes that it starts as well; PR_GET_TSC says what it set.
// build static: -O1 -static
// rounds: 0 200
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <x86intrin.h>

static sigjmp_buf out;
static volatile uint64_t sum;

static void handler(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    sum = mix(sum, signal + info->si_code * 100 + (uintptr_t)info->si_addr);
    sum = mix(sum, uc->uc_mcontext.gregs[REG_TRAPNO] * 100 + uc->uc_mcontext.gregs[REG_ERR]);
    sum = mix(sum, *(unsigned short *)uc->uc_mcontext.gregs[REG_RIP]);
    siglongjmp(out, 1);
}

static int faults(int with_processor)
{
    unsigned processor;
    if (sigsetjmp(out, 1) != 0)
        return 1;
    REQUIRE((with_processor ? __rdtscp(&processor) : __rdtsc()) != 0);
    return 0;
}

static int asked(void)
{
    int how = 77;
    REQUIRE(prctl(PR_GET_TSC, &how) == 0);
    return how;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    if (argc > 2)
        return !(asked() == PR_TSC_SIGSEGV && faults(0));
    REQUIRE(asked() == PR_TSC_ENABLE && !faults(0));
    REQUIRE(prctl(PR_SET_TSC, 3) == -1 && errno == EINVAL);
    REQUIRE(prctl(PR_GET_TSC, 8) == -1 && errno == EFAULT);
    for (long round = 0; round < rounds(argc, argv); round++) {
        int allowed = round % 4 < 2;
        REQUIRE(prctl(PR_SET_TSC, allowed ? PR_TSC_ENABLE : PR_TSC_SIGSEGV) == 0);
        REQUIRE(asked() == (allowed ? PR_TSC_ENABLE : PR_TSC_SIGSEGV));
        REQUIRE(faults(round & 1) != allowed);
        if (round % 100 == 2 || round % 100 == 4) {
            pid_t child = fork();
            if (child == 0 && allowed)
                _exit(asked() != PR_TSC_ENABLE || faults(0));
            if (child == 0)
                execl("/proc/self/exe", argv[0], "0", "again", (char *)0);
            int status;
            REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        }
    }
    return report("clock", sum);
}

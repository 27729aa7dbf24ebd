// Children made by fork have their parent's handlers, alternate stack, mask and memory, and their own from then on; one is made in a handler.
// rounds: 0 6
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t caught, in_handler, forks_in_handler;
static sigjmp_buf after_fault;

static void on_usr1(int signal)
{
    char here;
    stack_t now;
    REQUIRE(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_ONSTACK);
    REQUIRE((char *)now.ss_sp <= &here && &here < (char *)now.ss_sp + now.ss_size);
    caught += signal;
}

static void on_fault(int signal)
{
    siglongjmp(after_fault, signal);
}

static void on_usr2(int signal)
{
    (void)signal;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        in_handler = 1;
    else
        forks_in_handler = child;
}

static int faults(void)
{
    int signal = sigsetjmp(after_fault, 1);
    if (signal == 0)
        *(volatile int *)8 = 1;
    return signal;
}

static int status_of(pid_t child)
{
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void child_of_child(long round)
{
    struct sigaction now;
    sigset_t mask;
    REQUIRE(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == on_usr1 && now.sa_flags & SA_ONSTACK);
    REQUIRE(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGHUP));
    raise(SIGUSR1);
    _exit(caught + faults() + round);
}

static void child(long round)
{
    raise(SIGUSR1);
    int fault = faults();
    pid_t grandchild = fork();
    REQUIRE(grandchild >= 0);
    if (grandchild == 0)
        child_of_child(round);
    int status = status_of(grandchild);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    _exit((status + fault + caught) % 200);
}

int main(int argc, char **argv)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction usr1 = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
    sigset_t hup;
    uint64_t sum = 0;
    sigemptyset(&hup);
    sigaddset(&hup, SIGHUP);
    REQUIRE(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &usr1, NULL) == 0);
    REQUIRE(sigprocmask(SIG_BLOCK, &hup, NULL) == 0);
    signal(SIGSEGV, on_fault);
    signal(SIGUSR2, on_usr2);
    for (long round = 0; round < rounds(argc, argv); round++) {
        pid_t made = fork();
        REQUIRE(made >= 0);
        if (made == 0)
            child(round);
        sum = mix(sum, status_of(made));
        raise(SIGUSR2);
        if (in_handler)
            _exit(50 + round + faults());
        sum = mix(sum, status_of(forks_in_handler));
    }
    raise(SIGUSR1);
    return report("inherited", mix(sum, caught));
}

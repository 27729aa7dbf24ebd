// A child begins with the signals blocked or ignored that its parent blocks or ignores, and with its handlers.
// rounds: 0 1
// build plain: -O1
#define _GNU_SOURCE
#include "bubble.h"
#include <signal.h>
#include <sys/wait.h>

static const int raised[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
enum { COUNT = sizeof raised / sizeof *raised };

static void handler(int signal)
{
    (void)signal;
}

static void tell_of_child(const char *what)
{
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        sigset_t blocked;
        struct sigaction is;
        REQUIRE(sigprocmask(SIG_BLOCK, 0, &blocked) == 0);
        printf("%s:", what);
        for (int i = 0; i < COUNT; i++) {
            REQUIRE(sigaction(raised[i], 0, &is) == 0);
            printf(" %s%s", is.sa_handler == SIG_IGN ? "ignored" : is.sa_handler == handler ? "handled" : "default",
                   sigismember(&blocked, raised[i]) ? "+" : "-");
        }
        printf("\n");
        exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    sigset_t all;
    for (int i = 0; i < COUNT; i++)
        REQUIRE(signal(raised[i], SIG_IGN) == SIG_DFL);
    tell_of_child("ignored");
    for (int i = 0; i < COUNT; i++)
        REQUIRE(signal(raised[i], handler) == SIG_IGN);
    sigfillset(&all);
    REQUIRE(sigprocmask(SIG_BLOCK, &all, 0) == 0);
    tell_of_child("blocked");
}

// A thread sends a signal that ends the process while the first waits: the sender executes nothing more. (Under ptrace it does.)
// build process: -O1 -pthread -DSEND=SYS_kill,getpid(),SIGTERM,0
// build thread: -O1 -pthread -DSEND=SYS_tgkill,getpid(),getpid(),SIGTERM
// build blocked: -O1 -pthread -DBLOCKED -DSEND=SYS_kill,getpid(),SIGTERM,0
// build certain: -O1 -pthread -DSEND=SYS_kill,getpid(),SIGKILL,0
// rounds: 0 1
// warned: at least by chance
// order: varies
// ends process: by a signal
// ends thread: by a signal
// ends certain: by a signal
#include "threads.h"
#include <poll.h>
#include <signal.h>

static int word = 1, elsewhere;

static void *send_signal(void *unused)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    // A signal that nobody takes waits, one that any thread takes ends all.
    REQUIRE(pthread_sigmask(SIG_BLOCK, &set, 0) == 0);
    long moved = 0;
    for (int i = 0; i < 500; i++) {
        moved += call(SYS_futex, (long)&word, FUTEX_CMP_REQUEUE, 0, 1, (long)&elsewhere, 1);
        call(SYS_poll, 0, 0, 20 * (1 - moved), 0, 0, 0);
    }
    REQUIRE(moved == 1);
    report("moved", moved);
    fflush(stdout);
    call(SEND, 0, 0, 0);
    report("after", 1);
    fflush(stdout);
#ifdef BLOCKED
    call(SYS_exit_group, 3, 0, 0, 0, 0, 0);
#endif
    for (;;)
        ;
    return 0;
}

int main(void)
{
#ifdef BLOCKED
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    REQUIRE(sigprocmask(SIG_BLOCK, &set, 0) == 0);
#endif
    start(send_signal, 0);
    call(SYS_futex, (long)&word, FUTEX_WAIT, 1, 0, 0, 0);
    abort();
}

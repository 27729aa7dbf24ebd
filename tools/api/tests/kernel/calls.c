// System calls of all kinds, and signals that come at certain places: a program that says the same each time. Its second life, behind an exec, ends as its argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(what) ((what) ? (void)0 : abort())

static volatile sig_atomic_t seen;
static sigjmp_buf back;
static void count(int signal) { seen += signal; }
static void more(int signal, siginfo_t *info, void *context)
{
    (void)context;
    seen += signal + info->si_code;
    getppid();
}
static void leave(int signal) { siglongjmp(back, signal); }

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    REQUIRE(sigaction(signal, &action, 0) == 0);
}

static void signals(void)
{
    handle(SIGUSR1, count, SA_RESTART);
    handle(SIGUSR2, (void (*)(int))more, SA_SIGINFO);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
    // Comes at the end of the call that lets it in.
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGALRM);
    REQUIRE(sigprocmask(SIG_BLOCK, &set, &old) == 0);
    raise(SIGUSR1);
    REQUIRE(sigprocmask(SIG_SETMASK, &old, 0) == 0);
    // Breaks off calls that let it in.
    handle(SIGALRM, count, SA_RESTART);
    REQUIRE(sigprocmask(SIG_BLOCK, &set, 0) == 0);
    struct itimerval once = {{0, 0}, {0, 1000}};
    REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
    REQUIRE(sigsuspend(&old) == -1 && errno == EINTR);
    struct pollfd none = {.fd = -1, .events = POLLIN, .revents = 0x55};
    REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
    REQUIRE(ppoll(&none, 1, 0, &old) == -1 && errno == EINTR);
    REQUIRE(sigprocmask(SIG_SETMASK, &old, 0) == 0);
    // A fault whose handler never returns, and one that is mended.
    handle(SIGSEGV, leave, 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)16 = 1;
    // A call that fails, and then a signal.
    handle(SIGPIPE, count, 0);
    int ends[2];
    REQUIRE(pipe(ends) == 0 && close(ends[0]) == 0);
    REQUIRE(write(ends[1], "x", 1) == -1 && errno == EPIPE);
    close(ends[1]);
}

static void files(const char *self)
{
    char bytes[5000], link[256];
    int file = open(self, O_RDONLY);
    for (int i = 0; i < 40; i++)
        REQUIRE(pread(file, bytes, sizeof bytes, 100 * i) > 0);
    REQUIRE(readlink("/proc/self/exe", link, sizeof link) > 0);
    void *map = mmap(0, 8192, PROT_READ, MAP_PRIVATE, file, 0);
    REQUIRE(map != MAP_FAILED && munmap(map, 8192) == 0 && close(file) == 0);
    REQUIRE(open("/no/such/file", O_RDONLY) == -1 && fcntl(77, F_GETFD) == -1);
    int ends[2];
    REQUIRE(pipe(ends) == 0 && write(ends[1], bytes, 100) == 100 && read(ends[0], bytes, sizeof bytes) == 100);
    close(ends[0]);
    close(ends[1]);
}

static void processes(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    REQUIRE(waitpid(-1, &status, 0) == child && WEXITSTATUS(status) == 3);
    char *none[] = {"no", 0};
    REQUIRE(execv("/no/such/program", none) == -1);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        signals();
        files(argv[0]);
        processes();
        execl(argv[0], argv[0], argv[1], "again", NULL);
        abort();
    }
    REQUIRE(write(1, "done\n", 5) == 5);
    if (strcmp(argv[1], "killed") == 0) {
        kill(getpid(), SIGTERM);
        pause();
    }
    if (strcmp(argv[1], "pipe") == 0) {
        signal(SIGPIPE, SIG_DFL);
        int ends[2];
        REQUIRE(pipe(ends) == 0 && close(ends[0]) == 0);
        write(ends[1], "x", 1);
    }
    if (strcmp(argv[1], "waits") == 0) {
        struct itimerval once = {{0, 0}, {0, 1000}};
        sigset_t set, old;
        sigemptyset(&set);
        sigaddset(&set, SIGALRM);
        REQUIRE(sigprocmask(SIG_BLOCK, &set, &old) == 0);
        REQUIRE(setitimer(ITIMER_REAL, &once, 0) == 0);
        sigsuspend(&old);
    }
    return 7;
}

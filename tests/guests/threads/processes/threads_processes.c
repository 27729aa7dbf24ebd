// Processes started by any thread while others compute: fork, vfork, posix_spawn and system.
// build plain: -O1 -pthread
// rounds: 0 4
// warned: at least by chance
// totals: vary
// children: vary
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

extern char **environ;
static atomic_int stop;
static __thread int own;

static void *compute(void *unused)
{
    uint64_t sum = 0;
    while (!stop)
        for (int i = 0; i < 1000; i++)
            sum = mix(sum, i);
    return unused;
}

static int ended_with(pid_t child, int status)
{
    int now;
    return waitpid(child, &now, 0) == child && WIFEXITED(now) && WEXITSTATUS(now) == status;
}

static void *starts(void *argument)
{
    long self = (long)argument & 7, all = (long)argument >> 3;
    own = 30 + self;
    for (long i = 0; i < all; i++) {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        pid_t child = fork();
        if (child == 0) {
            // One thread, this one, with what is its own.
            REQUIRE(getpid() == gettid());
            REQUIRE(write(ends[1], &own, sizeof own) == sizeof own);
            _exit(own);
        }
        int told = 0;
        REQUIRE(read(ends[0], &told, sizeof told) == sizeof told && told == 30 + self);
        REQUIRE(ended_with(child, 30 + self));
        close(ends[0]);
        close(ends[1]);
        child = vfork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
            _exit(1);
        }
        REQUIRE(ended_with(child, 9));
        char *arguments[] = {"sh", "-c", "exit 8", 0};
        REQUIRE(posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ) == 0 && ended_with(child, 8));
        REQUIRE(WEXITSTATUS(system("exit 7")) == 7);
        FILE *from = popen("echo from a shell", "r");
        char line[64];
        REQUIRE(from && fgets(line, sizeof line, from) && strcmp(line, "from a shell\n") == 0 && pclose(from) == 0);
    }
    return (void *)self;
}

int main(int argc, char **argv)
{
    long all = rounds(argc, argv);
    pthread_t computing, starting[2];
    REQUIRE(pthread_create(&computing, 0, compute, 0) == 0);
    for (uintptr_t i = 0; i < 2; i++)
        REQUIRE(pthread_create(&starting[i], 0, starts, (void *)(all << 3 | i)) == 0);
    starts((void *)(all << 3 | 5));
    for (int i = 0; i < 2; i++)
        pthread_join(starting[i], 0);
    stop = 1;
    pthread_join(computing, 0);
    puts("all ended");
    return 0;
}

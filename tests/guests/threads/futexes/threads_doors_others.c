// Threads that hand on to each other over and over, and between two rounds one starts a process, maps memory, or starts a thread that ends at once.
// build plain: -O1 -pthread
// rounds: 60 400
// totals: vary
// order: varies
#include "doors.h"
#include <sys/mman.h>
#include <sys/wait.h>

static int short_lived;
static uint64_t token = 5;
static long work;

static void *end_at_once(void *number)
{
    live(&short_lived);
    token = mix(token, (uintptr_t)number);
    return end_thread(0);
}

static void start_process(void)
{
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(token & 63);
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == (int)(token & 63));
}

static void map_memory(void)
{
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    page[7] = token;
    token = mix(token, page[7]);
    REQUIRE(munmap(page, 4096) == 0);
}

static void *go_round(void *number)
{
    uintptr_t self = (uintptr_t)number;
    live(&alive[self]);
    for (long round = 0; round < work; round++) {
        wait_at(self);
        token = mix(token, self);
        if (self == 1 && round % 50 == 20)
            start_process();
        if (self == 2 && round % 20 == 10)
            map_memory();
        if (self == 3 && round % 40 == 30) {
            start_alive(end_at_once, round, &short_lived);
            wait_for_end(&short_lived);
        }
        open_door((self + 1) % DOORS);
    }
    return end_thread(0);
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    start_all(go_round);
    go();
    return report("doors and others", token);
}

// Advice about forks, forgetting and dropping memory: the program gets what it asked for, or is told that it does not (so it is not single-stepped).
// rounds: 0 20
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t *wiped = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t *kept = wiped + 512;
        REQUIRE(wiped != MAP_FAILED);
        int is_wiped = madvise(wiped, 4096, MADV_WIPEONFORK) == 0;
        int is_freed = madvise(kept, 4096, MADV_FREE) == 0;
        for (int i = 0; i < 512; i++)
            wiped[i] = kept[i] = mix(round, i);
        int is_missing = madvise(kept, 4096, MADV_DONTFORK) == 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(is_wiped && wiped[7] != 0);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        // In this process everything is still there (freed memory was written afterwards).
        for (int i = 0; i < 512; i++)
            sum = mix(sum, wiped[i] + kept[i]);
        void *droppable = mmap(0, 4096, PROT_READ | PROT_WRITE, 8 | MAP_ANONYMOUS, -1, 0);
        REQUIRE(droppable != MAP_FAILED || errno == EINVAL || errno == EOPNOTSUPP);
        REQUIRE(munmap(wiped, 8192) == 0 && is_freed >= 0 && is_missing >= 0);
    }
    return report("advice", sum);
}

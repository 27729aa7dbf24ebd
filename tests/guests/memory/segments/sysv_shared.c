// A System V segment, attached twice, written through both attachments and by a child process.
// rounds: 1 15
#define _GNU_SOURCE
#include "guest.h"
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    long times = rounds(argc, argv);
    int turns = times < 15 ? 10 * times : 200;
    for (long round = 0; round < times; round++) {
        int segment = shmget(IPC_PRIVATE, 8192, 0600);
        REQUIRE(segment >= 0);
        uint64_t *first = shmat(segment, 0, 0), *second = shmat(segment, 0, 0);
        REQUIRE(first != (void *)-1 && second != (void *)-1);
        REQUIRE(shmctl(segment, IPC_RMID, 0) == 0);
        for (int turn = 0; turn < turns; turn++)
            for (int i = 0; i < 1024; i++)
                first[i] = sum = mix(sum, second[(i * 5 + turn) % 1024]);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 1024; i++)
                second[i] = mix(first[i], round);
            _exit(0);
        }
        int status;
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
        for (int i = 0; i < 1024; i++)
            for (int n = first[i] % 8; n > 0; n--)
                sum = mix(sum, second[i]);
        REQUIRE(shmdt(first) == 0 && shmdt(second) == 0);
    }
    return report("attached", sum);
}

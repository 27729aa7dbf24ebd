// A child and its parent have a System V segment in common, and a program that the parent has started attaches it as well, by its number: once for good, and again and again for a
// moment only. Each time it has stored something the parent works by that.
// rounds: 3 30
#define _GNU_SOURCE
#include "guest.h"
#include <spawn.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define WORDS 4096

static int stranger(const char *name)
{
    int segment = 0;
    for (int i = 0; i < 8; i++)
        segment |= (name[i] - 'a') << 4 * i;
    uint64_t *words, number;
    while (read(0, &number, sizeof number) == sizeof number) {
        words = shmat(segment, 0, 0);
        REQUIRE(words != (void *)-1);
        for (int i = 0; i < WORDS; i += 100)
            words[i] = mix(words[i], number + 1);
        // In the second half it stays attached.
        if (number < 15)
            REQUIRE(shmdt(words) == 0);
        REQUIRE(write(1, &number, sizeof number) == sizeof number);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return stranger(argv[2]);
    int segment = shmget(IPC_PRIVATE, WORDS * 8, 0600), to[2], from[2], out[2], in[2], status;
    REQUIRE(segment >= 0);
    volatile uint64_t *words = shmat(segment, 0, 0);
    REQUIRE(words != (void *)-1 && pipe(to) == 0 && pipe(from) == 0 && pipe(out) == 0 && pipe(in) == 0);
    char number[16] = "", *arguments[] = { argv[0], "stranger", number, 0 };
    // As many instructions for each number.
    for (int i = 0; i < 8; i++)
        number[i] = 'a' + (segment >> 4 * i & 15);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[0], 0);
    posix_spawn_file_actions_adddup2(&files, in[1], 1);
    for (int fd = 3; fd < 16; fd++)
        posix_spawn_file_actions_addclose(&files, fd);
    fflush(stdout);
    pid_t program, child = fork();
    uint64_t sum = 1, told = 0;
    if (child == 0) {
        close(to[1]);
        while (read(to[0], &told, sizeof told) == sizeof told) {
            words[told % WORDS] = mix(words[told * 100 % WORDS], told);
            REQUIRE(write(from[1], &told, sizeof told) == sizeof told);
        }
        _exit(0);
    }
    REQUIRE(posix_spawn(&program, argv[0], &files, 0, arguments, environ) == 0);
    REQUIRE(shmctl(segment, IPC_RMID, 0) == 0);
    close(out[0]);
    close(in[1]);
    for (uint64_t round = 0; round < (uint64_t)rounds(argc, argv); round++) {
        // The child's turn, then the program's.
        REQUIRE(write(to[1], &round, 8) == 8 && read(from[0], &told, 8) == 8);
        REQUIRE(write(out[1], &round, 8) == 8 && read(in[0], &told, 8) == 8);
        for (int i = 0; i < WORDS; i += 50)
            for (int n = words[i] % 8; n > 0; n--)
                sum = mix(sum, words[i]);
    }
    close(to[1]);
    close(out[1]);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(waitpid(program, &status, 0) == program && status == 0);
    return report("attached", sum);
}

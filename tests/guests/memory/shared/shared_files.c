// A child and its parent have a file in memory mapped (shm_open), which the child now and then writes by a call, and a program that the parent has started opens and writes it as well:
// again and again for a moment, then it keeps it open. Each time somebody has stored something the parent works by that.
// rounds: 3 30
#define _GNU_SOURCE
#include "guest.h"
#include <spawn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define WORDS 4096

static uint64_t *map(const char *name, int flags)
{
    int fd = shm_open(name, O_RDWR | flags, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, WORDS * 8) == 0);
    uint64_t *words = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(words != MAP_FAILED && close(fd) == 0);
    return words;
}

static int stranger(const char *name)
{
    int file = -1;
    uint64_t number;
    while (read(0, &number, sizeof number) == sizeof number) {
        if (file < 0)
            file = shm_open(name, O_RDWR, 0);
        for (int i = 0; i < WORDS; i += 500) {
            uint64_t word = mix(i, number + 1);
            REQUIRE(pwrite(file, &word, sizeof word, i * 8) == sizeof word);
        }
        if (number < 15) {
            REQUIRE(close(file) == 0);
            file = -1;
        }
        REQUIRE(write(1, &number, sizeof number) == sizeof number);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return stranger(argv[2]);
    int to[2], from[2], out[2], in[2], status;
    char name[64] = "/shared_files-", *arguments[] = { argv[0], "stranger", name, 0 };
    // As many instructions for each number.
    for (int i = 0; i < 8; i++)
        name[14 + i] = 'a' + (getpid() >> 4 * i & 15);
    volatile uint64_t *words = map(name, O_CREAT | O_EXCL);
    int file = shm_open(name, O_RDWR, 0);
    REQUIRE(file >= 0 && pipe(to) == 0 && pipe(from) == 0 && pipe(out) == 0 && pipe(in) == 0);
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
            if (told % 5 == 1)
                REQUIRE(pwrite(file, &told, sizeof told, told * 400) == sizeof told);
            REQUIRE(write(from[1], &told, sizeof told) == sizeof told);
        }
        _exit(0);
    }
    REQUIRE(posix_spawn(&program, argv[0], &files, 0, arguments, environ) == 0);
    close(out[0]);
    close(in[1]);
    for (uint64_t round = 0; round < (uint64_t)rounds(argc, argv); round++) {
        // The child's turn, then the program's.
        REQUIRE(write(to[1], &round, 8) == 8 && read(from[0], &told, 8) == 8);
        if (round % 10 > 6)
            REQUIRE(write(out[1], &round, 8) == 8 && read(in[0], &told, 8) == 8);
        for (int i = 0; i < WORDS; i += 50)
            for (int n = words[i] % 8; n > 0; n--)
                sum = mix(sum, words[i]);
    }
    close(to[1]);
    close(out[1]);
    REQUIRE(shm_unlink(name) == 0);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    REQUIRE(waitpid(program, &status, 0) == program && status == 0);
    return report("mapped", sum);
}

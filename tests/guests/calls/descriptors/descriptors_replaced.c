// Puts descriptors in others' places, as shells do for each command, among files, pipes and devices, with alarms that are set and unset.
// rounds: 2 20
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { PLACE = 40, SAVED = 50, LARGE = 150000 };
static const char name[] = "replaced", mapped[] = "mapped";
static char bytes[LARGE];

// What was a file's place is a pipe's: so much goes through it in one piece.
static uint64_t through_pipe(uint64_t sum)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 2 * LARGE) >= LARGE);
    REQUIRE(dup2(ends[1], PLACE) == PLACE && close(ends[1]) == 0);
    REQUIRE(write(PLACE, bytes, LARGE) == LARGE && close(PLACE) == 0);
    for (long left = LARGE, got; left > 0; left -= got)
        REQUIRE((got = read(ends[0], bytes, left)) > 0);
    REQUIRE(read(ends[0], bytes, 1) == 0 && close(ends[0]) == 0);
    return mix(sum, bytes[5]);
}

// A file that is mapped is written anew: what was seen of it before was the old.
static uint64_t create(uint64_t sum, long round)
{
    char text[64];
    int file = open(mapped, O_RDONLY);
    const char *seen = mmap(0, 64, PROT_READ, MAP_PRIVATE, file, 0);
    REQUIRE(file >= 0 && seen != MAP_FAILED && close(file) == 0);
    for (int i = 0; i < 40; i++) {
        for (int n = seen[i % 8]; n > 0; n--)
            sum = mix(sum, n);
        REQUIRE(dup2(1, PLACE) == PLACE && close(PLACE) == 0);
    }
    REQUIRE(munmap((void *)seen, 64) == 0 && (file = creat(mapped, 0600)) >= 0);
    memset(text, 'a' + round % 26, sizeof text);
    REQUIRE(write(file, text, sizeof text) == sizeof text && close(file) == 0);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    REQUIRE(file >= 0 && null >= 0 && write(file, "ABCDEFGH", 8) == 8);
    int first = open(mapped, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(first >= 0 && write(first, bytes, 64) == 64 && close(first) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        struct itimerval later = {{0, 0}, {1000, 0}}, never = {{0, 0}, {0, 0}}, before;
        struct stat status;
        int ends[2];
        char byte = round;
        REQUIRE(pipe(ends) == 0);
        for (int i = 0; i < 6; i++) {
            REQUIRE(dup2(file, PLACE) == PLACE && lseek(PLACE, i, SEEK_SET) == i && read(PLACE, &byte, 1) == 1);
            sum = mix(sum, byte);
            REQUIRE(fcntl(PLACE, F_DUPFD, SAVED) == SAVED && dup3(null, PLACE, O_CLOEXEC) == PLACE);
            sum = mix(sum, fcntl(PLACE, F_GETFD) * 16 + read(PLACE, &byte, 1) + write(PLACE, bytes, 5000));
            REQUIRE(fstat(PLACE, &status) == 0 && S_ISCHR(status.st_mode));
            REQUIRE(dup2(ends[1], PLACE) == PLACE && write(PLACE, &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
            REQUIRE(dup2(SAVED, PLACE) == PLACE && fstat(PLACE, &status) == 0 && S_ISREG(status.st_mode));
            REQUIRE(dup2(PLACE, PLACE) == PLACE && close(SAVED) == 0 && close(PLACE) == 0);
            sum = mix(sum, dup2(PLACE, SAVED) + errno + dup3(file, file, 0) + errno + dup2(file, -1) + errno);
            sum = mix(sum, dup2(-1, file) + errno + fcntl(file, F_GETFD));
            sum = mix(sum, alarm(1000 + round) + (alarm(0) > 900));
            REQUIRE(setitimer(ITIMER_REAL, &later, 0) == 0 && setitimer(ITIMER_REAL, &never, &before) == 0);
            sum = mix(sum, before.it_value.tv_sec > 900);
        }
        REQUIRE(close(ends[0]) == 0 && close(ends[1]) == 0);
        sum = create(sum, round);
        if (round % 20 == 5)
            sum = through_pipe(sum);
    }
    return report("replaced", sum);
}

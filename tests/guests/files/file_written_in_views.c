// A file is written by calls, many times, while it is mapped in all ways: for reading and for both, as a whole and in parts, privately with pages of the app's own and
// without; it grows under its mappings, in holes too, is mapped again, cut off and synchronised.
// rounds: 1 12
#define _GNU_SOURCE
#include "guest.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { PAGES = 24, PAGE = 4096, VIEWS = 6 };

static volatile uint64_t *views[VIEWS];
static int places[VIEWS]; // which page of the file each shows first
static int reading, writing;

// How much is computed depends on what each page of the file shows in each mapping, as far as the file goes.
static uint64_t look(uint64_t sum)
{
    long pages = (lseek(reading, 0, SEEK_END) + PAGE - 1) / PAGE;
    for (int view = 0; view < VIEWS; view++)
        for (int page = places[view]; views[view] && page < pages; page++)
            for (int word = 0; word < 512; word += 73) {
                uint64_t there = views[view][(page - places[view]) * 512 + word];
                sum = mix(sum, there);
                for (uint64_t n = there % 7; n > 0; n--)
                    sum = mix(sum, n);
            }
    return sum;
}

static void unmap(int view)
{
    if (views[view])
        REQUIRE(munmap((void *)views[view], (PAGES - places[view]) * PAGE) == 0);
    views[view] = 0;
}

static void map(int view, int protection, int flags, int fd, int from)
{
    unmap(view);
    places[view] = from;
    views[view] = mmap(0, (PAGES - from) * PAGE, protection, flags, fd, from * PAGE);
    REQUIRE(views[view] != MAP_FAILED);
}

// One of the ways of writing, anywhere in the file or somewhat behind its end.
static uint64_t put(uint64_t sum, long turn)
{
    uint64_t words[700];
    long len = sum % 5000 + 1;
    for (int i = 0; i < 700; i++)
        words[i] = mix(sum, i);
    off_t at = mix(sum, turn) % (PAGES * PAGE - 6000);
    struct iovec parts[2] = {{words, len / 2}, {words + 3, len - len / 2}};
    switch (turn % 4) {
    case 0:
        REQUIRE(pwrite(writing, words, len, at) == len);
        break;
    case 1:
        REQUIRE(lseek(writing, at, SEEK_SET) == at && write(writing, words, len) == len);
        break;
    case 2:
        REQUIRE(pwritev(writing, parts, 2, at) == len);
        break;
    default:
        REQUIRE(lseek(writing, at, SEEK_SET) == at && writev(writing, parts, 2) == len);
    }
    return mix(sum, at);
}

int main(int argc, char **argv)
{
    const int both = PROT_READ | PROT_WRITE;
    uint64_t sum = 1;
    writing = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    reading = open("data", O_RDONLY);
    REQUIRE(writing >= 0 && reading >= 0);
    map(0, PROT_READ, MAP_SHARED, reading, 0);
    map(1, both, MAP_PRIVATE, reading, 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(ftruncate(writing, round * 1000 % PAGE) == 0);
        for (int turn = 0; turn < 12; turn++) {
            sum = put(sum, turn);
            sum = look(sum);
        }
        // Stores that the file shows.
        unmap(1);
        map(3, both, MAP_SHARED, writing, 0);
        for (int turn = 0; turn < 12; turn++) {
            sum = put(sum, turn);
            views[3][sum % 512] = sum;
            sum = look(sum);
        }
        map(1, both, MAP_PRIVATE, reading, 0);
        map(2, PROT_READ, MAP_SHARED, writing, 5);
        // Pages of its own, which what is written doesn't reach any more.
        long pages = lseek(reading, 0, SEEK_END) / PAGE;
        for (long page = round % 3; page < pages; page += 3) {
            views[1][page * 512] = sum;
            views[3][page * 512 + 73] = sum + page;
        }
        for (int turn = 0; turn < 12; turn++) {
            sum = put(sum, turn);
            if (turn % 5 == 0)
                REQUIRE(msync((void *)views[3], PAGES * PAGE, MS_SYNC) == 0 && fdatasync(writing) == 0);
            sum = look(sum);
        }
        // A view that can't be read when the file is written, but later.
        REQUIRE(mprotect((void *)views[2], (PAGES - 5) * PAGE, PROT_NONE) == 0);
        for (int turn = 0; turn < 3; turn++)
            sum = put(sum, turn);
        REQUIRE(mprotect((void *)views[2], (PAGES - 5) * PAGE, PROT_READ) == 0);
        sum = look(sum);
        map(1, both, MAP_PRIVATE, reading, 0);
        map(4, PROT_READ, MAP_PRIVATE, writing, 9);
        map(5, both, MAP_PRIVATE, writing, 2);
        for (int turn = 0; turn < 6; turn++) {
            sum = put(sum, turn);
            sum = look(sum);
        }
        REQUIRE(madvise((void *)views[5], (PAGES - 2) * PAGE, MADV_DONTNEED) == 0);
        // Cut off and grown again: zeroes come up.
        REQUIRE(ftruncate(writing, 3 * PAGE + 77) == 0 && ftruncate(writing, 7 * PAGE + 9) == 0);
        sum = look(sum);
        // What is appended goes to the end, wherever it is to go.
        int appending = open("data", O_WRONLY | O_APPEND);
        for (int turn = 0; turn < 6; turn++)
            REQUIRE(pwrite(appending, &sum, 8, 0) == 8);
        REQUIRE(close(appending) == 0);
        sum = look(sum);
        for (int view = 1; view < VIEWS; view++)
            unmap(view);
        map(1, both, MAP_PRIVATE, reading, 0);
    }
    return report("views", sum);
}

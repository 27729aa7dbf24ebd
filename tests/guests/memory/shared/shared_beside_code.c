// A parent rewrites a function again and again, by calls that change the protection of its page, while it shares memory with a child that stores there. Then it changes the
// protection of that memory itself and unmaps a part of it with pages of its own, while the child stores to it.
// rounds: 1 4
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 16, WORDS = PAGES * PAGE / 8, TIMES = 200, ALL = PROT_READ | PROT_WRITE | PROT_EXEC };

static int to[2], from[2];

static void let_child_store(long what)
{
    char byte;
    REQUIRE(write(to[1], &what, sizeof what) == sizeof what && read(from[0], &byte, 1) == 1);
}

int main(int argc, char **argv)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    /* The parent's own pages before and behind what it shares. */
    char *own = mmap(0, (PAGES + 2) * PAGE, ALL, kind, -1, 0);
    REQUIRE(own != MAP_FAILED && pipe(to) == 0 && pipe(from) == 0);
    const int shared = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
    uint64_t *words = mmap(own + PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE, shared, -1, 0);
    REQUIRE(words == (void *)(own + PAGE));
    volatile unsigned char *function = (unsigned char *)own;
    memcpy((void *)function, "\xb8\1\0\0\0\xc3", 6); /* mov eax, 1; ret */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        long what;
        close(to[1]);
        while (read(to[0], &what, sizeof what) == sizeof what) {
            for (int i = 0; i < WORDS; i += 128)
                words[i] = mix(words[i], what + i);
            if (write(from[1], "x", 1) != 1)
                _exit(9);
        }
        _exit(0);
    }
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        let_child_store(round);
        for (int n = 0; n < TIMES; n++) {
            REQUIRE(!mprotect(own, PAGE, ALL));
            function[1 + n % 4] += round + 1;
            sum = mix(sum, ((int (*)(void))own)());
            REQUIRE(!mprotect(own, PAGE, PROT_READ | PROT_EXEC));
            sum = mix(sum, ((int (*)(void))own)() + words[n * 64 % WORDS]);
            words[n * 64 % WORDS + 1] = sum;
        }
        /* What is shared, with a page of the parent's own. */
        REQUIRE(!mprotect(own, (PAGES / 2) * PAGE, PROT_READ));
        let_child_store(round + 1);
        for (int i = 0; i < WORDS; i += 64)
            for (int n = words[i] % 8; n > 0; n--)
                sum = mix(sum, words[i]);
        REQUIRE(!mprotect(words, PAGES / 2 * PAGE, PROT_READ | PROT_WRITE));
        words[5] = sum;
        let_child_store(round + 2);
        sum = mix(sum, words[0] + words[5] + words[WORDS / 4]);
    }
    /* The last shared page goes with the page behind it. */
    REQUIRE(!munmap(own + PAGES * PAGE, 2 * PAGE));
    let_child_store(99);
    for (int i = 0; i < WORDS - PAGE / 8; i += 64)
        sum = mix(sum, words[i]);
    close(to[1]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return report("sum", sum);
}

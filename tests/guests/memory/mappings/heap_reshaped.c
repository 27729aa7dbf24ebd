// The break moved over what was done to the heap: parts unmapped, protected, mapped over, moved away and made larger where
// they are, old ones with new ones. In the program and in a child of its.
// rounds: 1 9
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096 };
static const int both = PROT_READ | PROT_WRITE, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
static uint64_t sum = 1;

// A word of each page is changed, and what it was is part of the sum.
static void use(char *from, int pages)
{
    for (int i = 0; i < pages; i++) {
        uint64_t *word = (uint64_t *)(from + i * PAGE);
        sum = mix(sum, *word);
        *word = sum | 1;
    }
    for (int i = 0; i < 300; i++)
        sum = mix(sum, i);
}

static void grow(int pages)
{
    char *before = sbrk(0);
    REQUIRE(sbrk(pages * PAGE) == before);
    use(before, pages);
}

static void reshape(char *base, char *free)
{
    grow(8);
    // Above its end something is in the way.
    REQUIRE(mmap(base + 16 * PAGE, PAGE, PROT_READ, anonymous | MAP_FIXED, -1, 0) == base + 16 * PAGE);
    REQUIRE(sbrk(9 * PAGE) == (void *)-1 && errno == ENOMEM);
    REQUIRE(munmap(base + 16 * PAGE, PAGE) == 0);
    // A hole, one that is mapped again, one that can't be written; all given back, and back as one.
    REQUIRE(munmap(base + PAGE, PAGE) == 0 && munmap(base + 4 * PAGE, 3 * PAGE) == 0);
    REQUIRE(mmap(base + 5 * PAGE, PAGE, both, anonymous | MAP_FIXED, -1, 0) == base + 5 * PAGE);
    REQUIRE(mprotect(base + 2 * PAGE, PAGE, PROT_READ) == 0);
    use(base + 5 * PAGE, 1);
    REQUIRE(brk(base + PAGE / 2) == 0);
    use(base, 1);
    REQUIRE(brk(base + 8 * PAGE) == 0);
    use(base, 8);
    // Where nothing is mapped any more, what is given back may not be taken.
    REQUIRE(munmap(base + 7 * PAGE, PAGE) == 0);
    sum = mix(sum, syscall(SYS_brk, base + 7 * PAGE) - (long)base);
    REQUIRE(brk(base + 6 * PAGE) == 0);
    grow(3);
    // Old and new together: protected, moved.
    REQUIRE(mprotect(base + 4 * PAGE, 4 * PAGE, PROT_READ) == 0 && mprotect(base + 4 * PAGE, 4 * PAGE, both) == 0);
    use(base + 4 * PAGE, 5);
    REQUIRE(mremap(base + 5 * PAGE, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free) == free);
    use(free, 3);
    REQUIRE(brk(base) == 0);
    use(free, 3);
    // Larger and smaller elsewhere, and larger in place.
    grow(2);
    grow(2);
    REQUIRE(mremap(base + PAGE, 3 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free) == free);
    use(free, 6);
    REQUIRE(brk(base) == 0);
    grow(2);
    grow(3);
    REQUIRE(mremap(base, 4 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, free) == free);
    use(free, 2);
    REQUIRE(brk(base) == 0);
    grow(2);
    grow(2);
    REQUIRE(mremap(base, 4 * PAGE, 7 * PAGE, 0) == base);
    use(base, 7);
    REQUIRE(munmap(base + 4 * PAGE, 3 * PAGE) == 0);
    REQUIRE(brk(base) == 0);
}

int main(int argc, char **argv)
{
    long count = rounds(argc, argv);
    // Of which one page stays as it is: what grows behind it is one mapping with it.
    char *base = (char *)(((uintptr_t)sbrk(0) + 2 * PAGE - 1) & -(uintptr_t)PAGE);
    REQUIRE(brk(base) == 0);
    char *free = mmap(0, 8 * PAGE, PROT_NONE, anonymous, -1, 0);
    REQUIRE(free != MAP_FAILED);
    for (long round = 0; round < count; round++) {
        reshape(base, free);
        if (round % 8 == 0) {
            grow(2);
            pid_t child = fork();
            REQUIRE(child >= 0);
            if (child == 0) {
                use(base, 2);
                REQUIRE(brk(base) == 0);
                reshape(base, free);
                _exit(sum & 0x7f);
            }
            int status;
            REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
            sum = mix(sum, WEXITSTATUS(status));
            use(base, 2);
            REQUIRE(brk(base) == 0);
        }
    }
    return report("heap", sum);
}

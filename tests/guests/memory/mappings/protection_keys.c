// Memory with protection keys: forbidden and allowed again all the time, read and written, by handlers too, whose keys are the kernel's.
// build plain: -O1
// needs: ospke
// rounds: 20 20000
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>

static volatile uint64_t *page;
static volatile uint64_t seen_by_handler, faults;
static int key;

static void usr1(int signal)
{
    (void)signal;
    seen_by_handler = mix(seen_by_handler, pkey_get(key) + 10 * pkey_get(0));
}

// What the handler finds forbidden stays so where it returns to: it allows that itself.
static void segv(int signal, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)signal;
    REQUIRE(info->si_code == SEGV_PKUERR && info->si_addr == (void *)page);
    faults++;
    at->uc_mcontext.gregs[REG_RIP] += at->uc_mcontext.gregs[REG_RBX];
}

static uint64_t try_to_read(void)
{
    uint64_t value = 77;
    // Three bytes long.
    __asm__ volatile("mov $3, %%ebx; mov (%1), %0" : "+r"(value) : "r"(page) : "rbx", "memory");
    return value;
}

int main(int argc, char **argv)
{
    struct sigaction on_fault = {.sa_sigaction = segv, .sa_flags = SA_SIGINFO};
    uint64_t sum = 0;
    signal(SIGUSR1, usr1);
    REQUIRE(sigaction(SIGSEGV, &on_fault, 0) == 0);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED && (key = pkey_alloc(0, 0)) > 0);
    REQUIRE(pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key) == 0);
    for (long round = 0; round < rounds(argc, argv); round++) {
        REQUIRE(pkey_set(key, 0) == 0);
        for (int i = 0; i < 20; i++)
            *page = mix(*page, i + round);
        REQUIRE(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
        for (int i = 0; i < 20; i++)
            sum = mix(sum, *page + i);
        REQUIRE(pkey_set(key, PKEY_DISABLE_ACCESS) == 0);
        for (int i = 0; i < 20; i++)
            sum = mix(sum, pkey_get(key) * 3 + i);
        if (round % 10 == 3) {
            raise(SIGUSR1);
            sum = mix(sum, try_to_read() + pkey_get(key));
        }
    }
    sum = mix(sum, seen_by_handler + faults);
    return report("keys", sum);
}

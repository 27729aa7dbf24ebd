// Direct jumps to where nothing is and to what can't be executed, again and again: the handler is told of each.
// rounds: 0 20
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096, JUMP = 16 };
static sigjmp_buf out;
static volatile uint64_t sum;
static unsigned char *code;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    sum = mix(sum, signal + info->si_code * 100 + ((unsigned char *)info->si_addr - code) * 10000);
    siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    code = mmap(0, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED && munmap(code + 2 * PAGE, PAGE) == 0);
    for (int page = 1; page < 4; page++) {
        unsigned char *jump = code + page * JUMP;
        int relative = page * PAGE + 8 - (page * JUMP + 5);
        jump[0] = 0xe9;
        memcpy(jump + 1, &relative, 4);
    }
    REQUIRE(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
    for (volatile long round = 0; round < rounds(argc, argv); round++)
        for (volatile int page = 1; page < 4; page++)
            if (sigsetjmp(out, 1) == 0)
                ((void (*)(long))(code + page * JUMP))(round);
    return report("wild", sum);
}

// printf and strtod of floating point numbers, qsort, string functions of the C library.
// rounds: 1 1000
#include "guest.h"
#include <ctype.h>

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        char *texts[60];
        for (int i = 0; i < 60; i++) {
            char text[100];
            snprintf(text, sizeof text, "%.*f|%e|%s", i % 9, round * 1.37 / (i + 1), i * 1e-3, i % 2 ? "odd" : "even");
            texts[i] = strdup(text);
        }
        qsort(texts, 60, sizeof *texts, compare);
        for (int i = 0; i < 60; i++) {
            for (char *c = texts[i]; *c; c++)
                sum = mix(sum, toupper(*c));
            sum = mix(sum, (uint64_t)(strtod(texts[i], 0) * 1000));
            sum += strchr(texts[i], '|') - texts[i] + strlen(strrchr(texts[i], '|'));
            free(texts[i]);
        }
    }
    return report("texts", sum);
}

// The tools of tools/api/examples/costs as a client of DynamoRIO's, for scripts/costs.sh: `drrun -c libcosts.so TOOL -- APP`.
//
//   gcc -O2 -shared -fPIC -DLINUX -DX86_64 -I$D/include -I$D/ext/include dynamorio.c -o libcosts.so \
//       -L$D/lib64/release -L$D/ext/lib64/release -ldynamorio -ldrmgr -ldrreg -ldrx -ldrutil -ldrcontainers
#include "dr_api.h"
#include "drmgr.h"
#include "drreg.h"
#include "drutil.h"
#include "drx.h"
#include "hashtable.h"
#include <stdio.h>
#include <string.h>

static const char *tool;
static uint64 sums[2], entries;
static double average;
static hashtable_t table;
static drx_buf_t *buffer;

static void branch(uint64 address)
{
    sums[0]++;
    if (address & 64)
        sums[1] += address;
}

static void floating(uint64 n)
{
    average += (n - average) / 1024.0;
    sums[0]++;
}

static void checked(uint64 n)
{
    if (n > 1 || sums[n] == ~0ull)
        dr_abort();
    sums[n]++;
}

static void insert(app_pc pc)
{
    uint64 *times = hashtable_lookup(&table, pc);
    if (times == NULL) {
        times = dr_global_alloc(sizeof *times);
        *times = 0;
        hashtable_add(&table, pc, times);
    }
    ++*times;
    entries++;
}

static void whole(void)
{
    dr_mcontext_t state = {sizeof state, DR_MC_ALL};
    dr_get_mcontext(dr_get_current_drcontext(), &state);
    sums[0] += state.xcx == 0;
    sums[1] += state.simd[0].u8[0];
}

static void drain(void *context, void *begin, size_t size)
{
    for (uint64 *word = begin; word < (uint64 *)((byte *)begin + size); word++)
        sums[0] += *word;
}

static bool is(const char *name)
{
    return strcmp(tool, name) == 0;
}

// The address of the first memory operand, by a call or into the buffer.
static void look(void *context, instrlist_t *block, instr_t *where, opnd_t operand)
{
    reg_id_t address, scratch;
    if (drreg_reserve_register(context, block, where, NULL, &address) != DRREG_SUCCESS ||
        drreg_reserve_register(context, block, where, NULL, &scratch) != DRREG_SUCCESS)
        dr_abort();
    drutil_insert_get_mem_addr(context, block, where, operand, address, scratch);
    if (is("stream")) {
        drx_buf_insert_load_buf_ptr(context, buffer, block, where, scratch);
        drx_buf_insert_buf_store(context, buffer, block, where, scratch, DR_REG_NULL, opnd_create_reg(address), OPSZ_8, 0);
        drx_buf_insert_update_buf_ptr(context, buffer, block, where, scratch, DR_REG_NULL, sizeof(uint64));
    } else {
        dr_insert_clean_call(context, block, where, branch, false, 1, opnd_create_reg(address));
    }
    drreg_unreserve_register(context, block, where, scratch);
    drreg_unreserve_register(context, block, where, address);
}

static dr_emit_flags_t instrument(void *context, void *tag, instrlist_t *block, instr_t *where, bool for_trace, bool translating,
                                  void *data)
{
    if (is("branch") || is("stream")) {
        if (!instr_is_app(where))
            return DR_EMIT_DEFAULT;
        for (int i = 0; i < instr_num_srcs(where); i++)
            if (opnd_is_memory_reference(instr_get_src(where, i))) {
                look(context, block, where, instr_get_src(where, i));
                return DR_EMIT_DEFAULT;
            }
        for (int i = 0; i < instr_num_dsts(where); i++)
            if (opnd_is_memory_reference(instr_get_dst(where, i))) {
                look(context, block, where, instr_get_dst(where, i));
                return DR_EMIT_DEFAULT;
            }
        return DR_EMIT_DEFAULT;
    }
    if (!drmgr_is_first_instr(context, where))
        return DR_EMIT_DEFAULT;
    uint64 n = 0;
    for (instr_t *i = instrlist_first_app(block); i != NULL; i = instr_get_next_app(i))
        n++;
    if (is("count"))
        drx_insert_counter_update(context, block, where, SPILL_SLOT_MAX + 1, sums, 1, 0);
    else if (is("floating"))
        dr_insert_clean_call(context, block, where, floating, false, 1, OPND_CREATE_INT64(n));
    else if (is("checked"))
        dr_insert_clean_call(context, block, where, checked, false, 1, OPND_CREATE_INT64(n & 1));
    else if (is("table"))
        dr_insert_clean_call(context, block, where, insert, false, 1, OPND_CREATE_INTPTR(instr_get_app_pc(where)));
    else
        dr_insert_clean_call_ex(context, block, where, whole, DR_CLEANCALL_READS_APP_CONTEXT, 0);
    return DR_EMIT_DEFAULT;
}

static void at_exit(void)
{
    dr_fprintf(STDERR, "%s: %llu %llu %llu\n", tool, sums[0], sums[1], entries);
    if (buffer != NULL)
        drx_buf_free(buffer);
    hashtable_delete(&table);
    drutil_exit();
    drx_exit();
    drreg_exit();
    drmgr_exit();
}

static void free_entry(void *times)
{
    dr_global_free(times, sizeof(uint64));
}

DR_EXPORT void dr_client_main(client_id_t id, int argc, const char *argv[])
{
    drreg_options_t options = {sizeof options, 3, false};
    tool = argc > 1 ? argv[1] : "count";
    drmgr_init();
    drreg_init(&options);
    drx_init();
    drutil_init();
    hashtable_init_ex(&table, 16, HASH_INTPTR, false, false, free_entry, NULL, NULL);
    if (is("stream"))
        buffer = drx_buf_create_trace_buffer(1 << 20, drain);
    drmgr_register_exit_event(at_exit);
    drmgr_register_bb_instrumentation_event(NULL, instrument, NULL);
}

// Memory operands of every sort at addresses that can be read off the source; tests/suites/addresses.rs has the list.
// build static: -nostdlib -static -Wl,-Tdata=0x600000
// rounds: 1 1
        .globl _start
        .data
table:  .fill   4096, 1, 1                      // at 0x600000
        .text
_start:
        mov     $0x600800, %esp
        mov     $0x600000, %ebx
        mov     $158, %eax                      // arch_prctl(ARCH_SET_FS, 0x600400)
        mov     $0x1002, %edi
        mov     $0x600400, %esi
        syscall
        mov     $3, %ecx                        // a loop of four accesses, three times
1:      mov     (%rbx), %rax
        addq    $1, 8(%rbx,%rcx,8)              // read and written
        mov     %rax, table+0x100(%rip)
        cmpb    $0, -1(%rbx,%rcx)
        dec     %ecx
        jnz     1b
        push    %rbx
        call    2f
        pop     %rdx
        pushq   0x10(%rbx)                      // reads, then writes the stack
        popq    0x18(%rbx)
        mov     %fs:8, %rax
        mov     $0x20, %ecx
        mov     %fs:(%rcx), %rdx
        mov     $8, %eax
        mov     %fs:-8(%rax,%rax,2), %dl
        movabs  0x600200, %eax
        addr32 mov 4(%ebx), %dl
        cmp     %rax, %rax
        cmovne  0x20(%rbx), %rdx                // read all the same
        lea     0x30(%rbx), %rsi                // no access
        lea     0x300(%rbx), %rdi
        mov     $5, %ecx
        rep movsb
        rep stosb                               // rcx is 0: counted once all the same
        xor     %eax, %eax
        movdqu  %xmm0, 0x40(%rbx)
        mov     $0x10, %r10d                    // registers that are in use around what is written
        mov     %rdi, %r11
        mov     1(%r10,%r11), %cl
        mov     (%r11), %r10b
        movb    $1, (%r11)
        mov     $60, %eax
        xor     %edi, %edi
        syscall
2:      mov     8(%rsp), %rcx
        ret

	.file	"columns.c"
	.text
.Ltext0:
	.cfi_sections	.debug_frame
	.file 0 "" "examples/columns/columns.c"
#APP
	.globl _start
_start: lea stack + 4096(%rip), %rsp
 call run
.type _start, @function
.size _start, . - _start
#NO_APP
	.globl	rows
	.type	rows, @function
rows:
.LFB0:
	.file 1 "examples/columns/columns.c"
	.loc 1 14 1 view -0
	.cfi_startproc
	.loc 1 15 5 view .LVU1
.LVL0:
	.loc 1 16 5 view .LVU2
.LBB2:
	.loc 1 16 10 view .LVU3
	.loc 1 16 23 view .LVU4
	movl	$table+4096, %edi
	movl	$table+4198400, %r8d
.LBE2:
	.loc 1 15 10 is_stmt 0 view .LVU5
	movl	$0, %ecx
.LVL1:
.L2:
.LBB4:
.LBB3:
	.loc 1 17 27 is_stmt 1 view .LVU6
	leaq	-4096(%rdi), %rax
.LVL2:
.L3:
	.loc 1 18 13 discriminator 3 view .LVU7
	.loc 1 18 28 is_stmt 0 discriminator 3 view .LVU8
	movl	(%rax), %edx
	.loc 1 18 31 discriminator 3 view .LVU9
	leal	1(%rdx), %esi
	movl	%esi, (%rax)
	movslq	%edx, %rdx
	.loc 1 18 17 discriminator 3 view .LVU10
	addq	%rdx, %rcx
.LVL3:
	.loc 1 17 36 is_stmt 1 discriminator 3 view .LVU11
	.loc 1 17 27 discriminator 3 view .LVU12
	addq	$4, %rax
.LVL4:
	.loc 1 17 27 is_stmt 0 discriminator 3 view .LVU13
	cmpq	%rdi, %rax
	jne	.L3
.LBE3:
	.loc 1 16 32 is_stmt 1 discriminator 2 view .LVU14
.LVL5:
	.loc 1 16 23 discriminator 2 view .LVU15
	addq	$4096, %rdi
.LVL6:
	.loc 1 16 23 is_stmt 0 discriminator 2 view .LVU16
	cmpq	%r8, %rdi
	jne	.L2
.LBE4:
	.loc 1 20 1 view .LVU17
	movq	%rcx, %rax
.LVL7:
	.loc 1 20 1 view .LVU18
	ret
	.cfi_endproc
.LFE0:
	.size	rows, .-rows
	.globl	columns
	.type	columns, @function
columns:
.LFB1:
	.loc 1 23 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 24 5 view .LVU20
.LVL8:
	.loc 1 25 5 view .LVU21
.LBB5:
	.loc 1 25 10 view .LVU22
	.loc 1 25 23 view .LVU23
	movl	$table+4194304, %edi
	movl	$table+4198400, %r8d
.LBE5:
	.loc 1 24 10 is_stmt 0 view .LVU24
	movl	$0, %ecx
.LVL9:
.L7:
.LBB7:
.LBB6:
	.loc 1 26 27 is_stmt 1 view .LVU25
	leaq	-4194304(%rdi), %rax
.LVL10:
.L8:
	.loc 1 27 13 discriminator 3 view .LVU26
	.loc 1 27 28 is_stmt 0 discriminator 3 view .LVU27
	movl	(%rax), %edx
	.loc 1 27 31 discriminator 3 view .LVU28
	leal	1(%rdx), %esi
	movl	%esi, (%rax)
	movslq	%edx, %rdx
	.loc 1 27 17 discriminator 3 view .LVU29
	addq	%rdx, %rcx
.LVL11:
	.loc 1 26 36 is_stmt 1 discriminator 3 view .LVU30
	.loc 1 26 27 discriminator 3 view .LVU31
	addq	$4096, %rax
.LVL12:
	.loc 1 26 27 is_stmt 0 discriminator 3 view .LVU32
	cmpq	%rdi, %rax
	jne	.L8
.LBE6:
	.loc 1 25 32 is_stmt 1 discriminator 2 view .LVU33
.LVL13:
	.loc 1 25 23 discriminator 2 view .LVU34
	addq	$4, %rdi
.LVL14:
	.loc 1 25 23 is_stmt 0 discriminator 2 view .LVU35
	cmpq	%r8, %rdi
	jne	.L7
.LBE7:
	.loc 1 29 1 view .LVU36
	movq	%rcx, %rax
.LVL15:
	.loc 1 29 1 view .LVU37
	ret
	.cfi_endproc
.LFE1:
	.size	columns, .-columns
	.globl	run
	.type	run, @function
run:
.LFB2:
	.loc 1 36 1 is_stmt 1 view -0
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	.loc 1 37 5 view .LVU39
	.loc 1 37 19 is_stmt 0 view .LVU40
	call	rows
.LVL16:
	movq	%rax, %rbx
	.loc 1 37 28 view .LVU41
	call	columns
.LVL17:
	.loc 1 38 5 is_stmt 1 view .LVU42
	.loc 1 37 26 is_stmt 0 view .LVU43
	addq	%rax, %rbx
.LVL18:
	.loc 1 37 38 view .LVU44
	cmpq	$1048576, %rbx
	setne	%dil
	movzbl	%dil, %edi
	.loc 1 38 5 view .LVU45
	movl	$231, %eax
#APP
# 38 "examples/columns/columns.c" 1
	syscall
# 0 "" 2
	.loc 1 39 1 view .LVU46
#NO_APP
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE2:
	.size	run, .-run
	.local	stack
	.comm	stack,4096,4096
	.local	table
	.comm	table,4194304,32
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0x1c7
	.value	0x5
	.byte	0x1
	.byte	0x8
	.long	.Ldebug_abbrev0
	.uleb128 0x8
	.long	.LASF8
	.byte	0x1d
	.long	.LASF0
	.long	.LASF1
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0x4
	.long	0x4d
	.long	0x46
	.uleb128 0x2
	.long	0x46
	.value	0x3ff
	.uleb128 0x2
	.long	0x46
	.value	0x3ff
	.byte	0
	.uleb128 0x3
	.byte	0x8
	.byte	0x7
	.long	.LASF2
	.uleb128 0x9
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0xa
	.long	.LASF9
	.byte	0x1
	.byte	0xb
	.byte	0xc
	.long	0x2e
	.uleb128 0x9
	.byte	0x3
	.quad	table
	.uleb128 0x4
	.long	0x7b
	.long	0x7b
	.uleb128 0x2
	.long	0x46
	.value	0xfff
	.byte	0
	.uleb128 0x3
	.byte	0x1
	.byte	0x6
	.long	.LASF3
	.uleb128 0xb
	.long	.LASF4
	.byte	0x1
	.byte	0x20
	.byte	0xd
	.long	0x6a
	.value	0x1000
	.uleb128 0x9
	.byte	0x3
	.quad	stack
	.uleb128 0xc
	.string	"run"
	.byte	0x1
	.byte	0x23
	.byte	0x6
	.quad	.LFB2
	.quad	.LFE2-.LFB2
	.uleb128 0x1
	.byte	0x9c
	.long	0xe7
	.uleb128 0xd
	.long	.LASF5
	.byte	0x1
	.byte	0x25
	.byte	0xa
	.long	0xe7
	.long	.LLST8
	.long	.LVUS8
	.uleb128 0x5
	.quad	.LVL16
	.long	0x15e
	.uleb128 0x5
	.quad	.LVL17
	.long	0xee
	.byte	0
	.uleb128 0x3
	.byte	0x8
	.byte	0x5
	.long	.LASF6
	.uleb128 0xe
	.long	.LASF10
	.byte	0x1
	.byte	0x16
	.byte	0x6
	.long	0xe7
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.long	0x15e
	.uleb128 0x1
	.string	"sum"
	.byte	0x18
	.byte	0xa
	.long	0xe7
	.long	.LLST4
	.long	.LVUS4
	.uleb128 0x6
	.long	.LLRL5
	.uleb128 0x1
	.string	"j"
	.byte	0x19
	.byte	0xe
	.long	0x4d
	.long	.LLST6
	.long	.LVUS6
	.uleb128 0x7
	.quad	.LBB6
	.quad	.LBE6-.LBB6
	.uleb128 0x1
	.string	"i"
	.byte	0x1a
	.byte	0x12
	.long	0x4d
	.long	.LLST7
	.long	.LVUS7
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0xf
	.long	.LASF7
	.byte	0x1
	.byte	0xd
	.byte	0x6
	.long	0xe7
	.quad	.LFB0
	.quad	.LFE0-.LFB0
	.uleb128 0x1
	.byte	0x9c
	.uleb128 0x1
	.string	"sum"
	.byte	0xf
	.byte	0xa
	.long	0xe7
	.long	.LLST0
	.long	.LVUS0
	.uleb128 0x6
	.long	.LLRL1
	.uleb128 0x1
	.string	"i"
	.byte	0x10
	.byte	0xe
	.long	0x4d
	.long	.LLST2
	.long	.LVUS2
	.uleb128 0x7
	.quad	.LBB3
	.quad	.LBE3-.LBB3
	.uleb128 0x1
	.string	"j"
	.byte	0x11
	.byte	0x12
	.long	0x4d
	.long	.LLST3
	.long	.LVUS3
	.byte	0
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0x5
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x48
	.byte	0
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x55
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x1f
	.uleb128 0x1b
	.uleb128 0x1f
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x88
	.uleb128 0x5
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xe
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xf
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_loclists,"",@progbits
	.long	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.Ldebug_loc0:
.LVUS8:
	.uleb128 .LVU42
	.uleb128 .LVU44
.LLST8:
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0xd
	.byte	0x73
	.sleb128 0
	.byte	0x70
	.sleb128 0
	.byte	0x22
	.byte	0x40
	.byte	0x40
	.byte	0x24
	.byte	0x2e
	.byte	0x8
	.byte	0xff
	.byte	0x1a
	.byte	0x9f
	.byte	0
.LVUS4:
	.uleb128 .LVU21
	.uleb128 .LVU25
	.uleb128 .LVU25
	.uleb128 0
.LLST4:
	.byte	0x4
	.uleb128 .LVL8-.Ltext0
	.uleb128 .LVL9-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LFE1-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0
.LVUS6:
	.uleb128 .LVU23
	.uleb128 .LVU25
	.uleb128 .LVU25
	.uleb128 .LVU34
	.uleb128 .LVU34
	.uleb128 .LVU35
	.uleb128 .LVU35
	.uleb128 0
.LLST6:
	.byte	0x4
	.uleb128 .LVL8-.Ltext0
	.uleb128 .LVL9-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL13-.Ltext0
	.uleb128 0xf
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194304
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x11
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194304
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL14-.Ltext0
	.uleb128 .LFE1-.Ltext0
	.uleb128 0x11
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194308
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.LVUS7:
	.uleb128 .LVU25
	.uleb128 .LVU26
	.uleb128 .LVU26
	.uleb128 .LVU31
	.uleb128 .LVU31
	.uleb128 .LVU32
	.uleb128 .LVU32
	.uleb128 .LVU35
	.uleb128 .LVU35
	.uleb128 .LVU37
.LLST7:
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL10-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL10-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x26
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194304
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x32
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL11-.Ltext0
	.uleb128 .LVL12-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194304
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x32
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL12-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194304
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x32
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL14-.Ltext0
	.uleb128 .LVL15-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4194308
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x32
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.LVUS0:
	.uleb128 .LVU2
	.uleb128 .LVU6
	.uleb128 .LVU6
	.uleb128 0
.LLST0:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0
.LVUS2:
	.uleb128 .LVU4
	.uleb128 .LVU6
	.uleb128 .LVU6
	.uleb128 .LVU15
	.uleb128 .LVU15
	.uleb128 .LVU16
	.uleb128 .LVU16
	.uleb128 0
.LLST2:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL5-.Ltext0
	.uleb128 0xf
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x11
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL6-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x11
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+8192
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.LVUS3:
	.uleb128 .LVU6
	.uleb128 .LVU7
	.uleb128 .LVU7
	.uleb128 .LVU12
	.uleb128 .LVU12
	.uleb128 .LVU13
	.uleb128 .LVU13
	.uleb128 .LVU16
	.uleb128 .LVU16
	.uleb128 .LVU18
.LLST3:
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL2-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL2-.Ltext0
	.uleb128 .LVL3-.Ltext0
	.uleb128 0x26
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x3c
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL3-.Ltext0
	.uleb128 .LVL4-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x3c
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+4096
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x3c
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table+4
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL6-.Ltext0
	.uleb128 .LVL7-.Ltext0
	.uleb128 0x28
	.byte	0x70
	.sleb128 0
	.byte	0x75
	.sleb128 0
	.byte	0x3
	.quad	table+8192
	.byte	0x1c
	.byte	0x3c
	.byte	0x25
	.byte	0x8
	.byte	0x20
	.byte	0x24
	.byte	0x8
	.byte	0x20
	.byte	0x26
	.byte	0x3c
	.byte	0x24
	.byte	0x1c
	.byte	0x3
	.quad	table+4
	.byte	0x1c
	.byte	0x32
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_rnglists,"",@progbits
.Ldebug_ranges0:
	.long	.Ldebug_ranges3-.Ldebug_ranges2
.Ldebug_ranges2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.LLRL1:
	.byte	0x4
	.uleb128 .LBB2-.Ltext0
	.uleb128 .LBE2-.Ltext0
	.byte	0x4
	.uleb128 .LBB4-.Ltext0
	.uleb128 .LBE4-.Ltext0
	.byte	0
.LLRL5:
	.byte	0x4
	.uleb128 .LBB5-.Ltext0
	.uleb128 .LBE5-.Ltext0
	.byte	0x4
	.uleb128 .LBB7-.Ltext0
	.uleb128 .LBE7-.Ltext0
	.byte	0
.Ldebug_ranges3:
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF4:
	.string	"stack"
.LASF2:
	.string	"long unsigned int"
.LASF5:
	.string	"status"
.LASF7:
	.string	"rows"
.LASF6:
	.string	"long int"
.LASF9:
	.string	"table"
.LASF8:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O1 -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pie -fno-inline"
.LASF10:
	.string	"columns"
.LASF3:
	.string	"char"
	.section	.debug_line_str,"MS",@progbits,1
.LASF1:
	.string	""
.LASF0:
	.string	"examples/columns/columns.c"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits

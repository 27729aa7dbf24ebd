//! Places before which the host is asked, one after the other: each is armed where the last one was reached.

use std::arch::global_asm;

use bubble::end::EndStands;
use bubble::map;
use engine::{Control, Fault, Flow, Host, Nondeterministic, Settings};
use machine::{Gpr, Registers};
use translator::abi::Cpu;
use translator::trace::{Instrument, Trace};

use crate::{DONE, SETTINGS, begun, count_blocks, count_instructions, count_steps, run_memory};

global_asm!(
    // A loop of `rdi` rounds.
    ".globl superpin_test_points",
    "superpin_test_points:",
    "xor eax, eax",
    "mov rcx, rdi",
    "1: add rax, rcx",
    "superpin_test_points_a:",
    "imul rdx, rax, 3",
    "superpin_test_points_b:",
    "xor rax, rdx",
    "dec rcx",
    "superpin_test_points_c:",
    "jnz 1b",
    "ret",
    // Comes between two instructions, as a handler does: two of its own, and on to r9.
    ".globl superpin_test_points_handler",
    "superpin_test_points_handler:",
    "lea r8, [r8 + 1]",
    "jmp r9",
    ".globl superpin_test_points_a",
    ".globl superpin_test_points_b",
    ".globl superpin_test_points_c",
);

unsafe extern "C" {
    safe fn superpin_test_points(rounds: u64) -> u64;
    fn superpin_test_points_handler();
    fn superpin_test_points_a();
    fn superpin_test_points_b();
    fn superpin_test_points_c();
}

extern "C" fn rounds(n: u64) -> u64 {
    superpin_test_points(n)
}

/// The state in a round of the loop, counted down, at each of the places in it.
fn places(rounds: u64, round: u64) -> [Registers; 3] {
    let (mut rax, mut rdx) = (0_u64, 0_u64);
    let mut places = [Registers::default(); 3];
    for rcx in (round..=rounds).rev() {
        rax = rax.wrapping_add(rcx);
        let at = |place: unsafe extern "C" fn(), rax, rdx, rcx| {
            let mut registers = Registers { rip: place as *const () as u64, ..Registers::default() };
            [(Gpr::Rax, rax), (Gpr::Rdx, rdx), (Gpr::Rcx, rcx)].iter().for_each(|&(r, value)| registers.set(r, value));
            registers
        };
        let before = rdx;
        rdx = rax.wrapping_mul(3);
        places = [
            at(superpin_test_points_a, rax, before, rcx),
            at(superpin_test_points_b, rax, rdx, rcx),
            at(superpin_test_points_c, rax ^ rdx, rdx, rcx - 1),
        ];
        rax ^= rdx;
    }
    places
}

/// Looks for some states, one after the other.
struct Visiting {
    states: Vec<Registers>,
    calls: fn(&mut Trace),
    reached: usize,
}

impl Visiting {
    fn arm(&self, control: &mut dyn Control) {
        match self.states.get(self.reached) {
            Some(state) => control.arm(state, EndStands::Anywhere),
            None => control.disarm(),
        }
    }
}

impl Instrument for Visiting {
    fn instrument(&self, trace: &mut Trace) {
        (self.calls)(trace);
    }
}

impl Host for Visiting {
    fn syscall(&mut self, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        assert_eq!(cpu.registers.get(Gpr::Rax), DONE);
        Flow::Leave
    }

    fn nondeterministic(&mut self, what: Nondeterministic, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{what:?}")
    }

    fn end_reached(&mut self, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        let state = &self.states[self.reached];
        assert_eq!(cpu.registers.rip, state.rip);
        let is_there = [Gpr::Rax, Gpr::Rdx, Gpr::Rcx].iter().all(|&r| cpu.registers.get(r) == state.get(r));
        if is_there { Flow::Leave } else { Flow::Continue }
    }

    fn arrived(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        self.reached += 1;
        self.arm(control);
        cpu.registers.set(Gpr::R9, cpu.registers.rip);
        cpu.registers.rip = superpin_test_points_handler as *const () as u64;
        Flow::Continue
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("signal {} at {:#x}", fault.signal, cpu.registers.rip)
    }

    fn unsupported(&mut self, reason: &str, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{reason}")
    }

    fn interrupted(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        Flow::Continue
    }
}

/// Runs the loop with these states on the way: its result, the tool's counter, and what r8 counts in between.
fn visit(settings: Settings, n: u64, states: Vec<Registers>, calls: fn(&mut Trace)) -> [u64; 3] {
    let (mut engine, _stack, _owner) = begun(settings, rounds, n);
    engine.cpu().registers.set(Gpr::R8, 0);
    let all = states.len();
    let mut host = Visiting { states, calls, reached: 0 };
    host.arm(&mut engine.control());
    engine.run(&mut host);
    assert_eq!(host.reached, all);
    // SAFETY: LOCAL is mapped, and nothing runs that writes to it.
    let counter = unsafe { *(map::LOCAL.start as *const u64) };
    let registers = engine.cpu().registers;
    [registers.get(Gpr::R15), counter, registers.get(Gpr::R8)]
}

#[test]
fn points_one_after_the_other_are_each_reached_once() {
    const ROUNDS: u64 = 400;
    let result = superpin_test_points(ROUNDS);
    let all: Vec<Registers> = (1..=ROUNDS).rev().flat_map(|round| places(ROUNDS, round)).collect();
    // SAFETY: getpid has no preconditions.
    let named = Some((unsafe { libc::getpid() }, run_memory(), map::file::TABLES_AT));
    let shared = Settings { sharing: true, run_memory: named, ..SETTINGS };
    for calls in [count_instructions, count_steps, count_blocks] {
        let [_, plain, _] = visit(SETTINGS, ROUNDS, Vec::new(), calls);
        // Some seldom, some in a row; a number that has nothing to do with three, and one that is a round.
        for step in [1, 3, 7, 100] {
            for settings in [SETTINGS, Settings { cache_bytes: 64 << 10, ..SETTINGS }, shared] {
                let states: Vec<Registers> = all.iter().skip(5).step_by(step).copied().collect();
                let reached = states.len() as u64;
                let visited = visit(settings, ROUNDS, states, calls);
                assert_eq!(visited, [result, plain + 2 * reached, reached], "every {step} of {settings:?}");
            }
        }
    }
}

//! The tool `memaddr` against a list of addresses made by hand from the source of the guest `addresses`.

use suites::guest;
use suites::superpin::count_with;

/// Start of the guest's table, and of its stack.
const TABLE: u64 = 0x60_0000;
const STACK: u64 = TABLE + 0x800;
const FS: u64 = TABLE + 0x400;

fn expected() -> Vec<u64> {
    let mut all = Vec::new();
    for rcx in [3, 2, 1] {
        all.extend([TABLE, TABLE + 8 + 8 * rcx, TABLE + 0x100, TABLE - 1 + rcx]);
    }
    // push, call, the load in the function, ret, pop
    all.extend([STACK - 8, STACK - 16, STACK - 16 + 8, STACK - 16, STACK - 8]);
    // push and pop of memory: the operand that is written out comes first
    all.extend([TABLE + 0x10, STACK - 8, TABLE + 0x18, STACK - 8]);
    all.extend([FS + 8, FS + 0x20, FS - 8 + 8 + 16]);
    all.extend([TABLE + 0x200, TABLE + 4, TABLE + 0x20]);
    // The first operand of movs is its destination.
    all.extend([TABLE + 0x300, TABLE + 0x30, TABLE + 0x305]);
    all.push(TABLE + 0x40);
    let (r10, r11) = (0x10, TABLE + 0x305);
    all.extend([1 + r10 + r11, r11, r11]);
    all
}

/// What `memaddr` prints of these addresses.
fn checksum(addresses: &[u64]) -> u64 {
    let (mut sum, mut sums) = (0_u64, 0_u64);
    for address in addresses {
        sum = sum.wrapping_add(*address);
        sums = sums.wrapping_add(sum);
    }
    sums ^ sum.rotate_left(32)
}

#[test]
fn addresses_are_those_of_the_source() {
    let guest = guest::named("addresses");
    for options in [
        "-sp 0",
        "-sp 0 -trace-blocks 1",
        "-sp 1 -spsysrecs 0",
        "-sp 0 -engine none",
        "-sp 0 -engine no-hold",
        "-sp 0 -engine no-drain",
        "-sp 0 -engine no-keep",
    ] {
        let options: Vec<_> = options.split(' ').collect();
        let counted = count_with("memaddr", &options, &guest.job(1)).unwrap();
        assert_eq!(counted.total, Some(checksum(&expected())), "{options:?}: {:?}", counted.outcome);
    }
}

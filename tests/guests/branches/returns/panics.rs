// Rust panics that unwind thousands of frames with values to drop, are caught and go on.
// build default: -C opt-level=1
// rounds: 12 3000

// What comes before Rust's own `main` reads /proc/self/maps, which isn't as long in all runs.
#![no_main]

use std::cell::RefCell;
use std::panic::{self, catch_unwind, resume_unwind, AssertUnwindSafe};

/// As the macro of that name in guest.h: a panic would be caught, or say nothing.
macro_rules! require {
    ($condition:expr) => {
        if !$condition {
            eprintln!("{}:{}: not so: {}", file!(), line!(), stringify!($condition));
            std::process::exit(99);
        }
    };
}

type Trail = RefCell<Vec<u64>>;

/// Notes that it was dropped, in which order.
struct Counted<'a> {
    depth: u64,
    trail: &'a Trail,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        require!(std::thread::panicking());
        self.trail.borrow_mut().push(self.depth);
    }
}

#[inline(never)]
fn descend(depth: u64, most: u64, trail: &Trail) -> u64 {
    let counted = Counted { depth, trail };
    if depth == most {
        // A division, an index, and a panic with a value of its own.
        return match most % 3 {
            0 => most / (most - depth),
            1 => [0, 1, 2][depth as usize % 2 + 3],
            _ => panic::panic_any(depth),
        };
    }
    if depth % 5 == 0 {
        let caught = catch_unwind(AssertUnwindSafe(|| descend(depth + 1, most, trail)));
        require!(trail.borrow().len() as u64 == most - depth);
        match caught {
            Ok(value) => return value,
            Err(why) => resume_unwind(why),
        }
    }
    descend(depth + 1, most, trail) + counted.depth
}

#[no_mangle]
extern "C" fn main() -> i32 {
    let most: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    panic::set_hook(Box::new(|_| ()));
    for most in most..most + 3 {
        let trail = Trail::default();
        let why = catch_unwind(AssertUnwindSafe(|| descend(1, most, &trail))).err();
        require!(why.is_some());
        let why = why.unwrap();
        let told = why.downcast_ref::<&str>().copied().or(why.downcast_ref::<String>().map(String::as_str));
        match most % 3 {
            0 => require!(told == Some("attempt to divide by zero")),
            1 => require!(told.is_some_and(|text| text.contains("the len is 3 but the index is"))),
            _ => require!(why.downcast_ref() == Some(&most)),
        }
        require!(trail.into_inner().into_iter().eq((1..=most).rev()));
    }
    println!("panics {most}");
    0
}

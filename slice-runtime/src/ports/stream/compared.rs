//! What two local states of a checked tool append to its stream: it is to be the same.

use std::collections::VecDeque;

/// Bytes by which one may be ahead of the other. Where it is by more nothing is compared any more.
const MOST_AHEAD: usize = 16 << 20;

/// Compares two streams as they are written.
#[derive(Default)]
pub struct Compared {
    /// What one of them has and the other hasn't yet.
    ahead: VecDeque<u8>,
    /// Whether that is the second one.
    is_second_ahead: bool,
    /// Bytes that were the same.
    same: u64,
    /// They differ behind those.
    differs: bool,
    /// One was too far ahead.
    has_given_up: bool,
}

impl Compared {
    /// None has anything yet.
    pub const fn new() -> Self {
        Self { ahead: VecDeque::new(), is_second_ahead: false, same: 0, differs: false, has_given_up: false }
    }

    /// One of them gets more.
    pub fn append(&mut self, is_second: bool, mut bytes: &[u8]) {
        if self.differs || self.has_given_up {
            return;
        }
        if self.is_second_ahead != is_second {
            while let (Some((&byte, rest)), Some(&other)) = (bytes.split_first(), self.ahead.front()) {
                if byte != other {
                    self.differs = true;
                    return;
                }
                self.ahead.pop_front();
                (bytes, self.same) = (rest, self.same + 1);
            }
        }
        if bytes.is_empty() {
            return;
        }
        self.is_second_ahead = is_second;
        self.ahead.extend(bytes);
        if self.ahead.len() > MOST_AHEAD {
            (self.has_given_up, self.ahead) = (true, VecDeque::new());
        }
    }

    /// Both are complete: how many bytes are the same before they differ.
    pub fn difference(&self) -> Option<u64> {
        (self.differs || !self.ahead.is_empty()).then_some(self.same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_all_sizes_are_compared() {
        let mut compared = Compared::new();
        for (is_second, bytes) in [(false, "abc"), (true, "ab"), (true, "cde"), (false, "d"), (false, "ef")] {
            compared.append(is_second, bytes.as_bytes());
        }
        assert_eq!(compared.difference(), Some(5));
        compared.append(true, b"f");
        assert_eq!(compared.difference(), None);
        compared.append(true, b"gh");
        compared.append(false, b"gi");
        compared.append(true, b"more");
        assert_eq!(compared.difference(), Some(7));
    }

    #[test]
    fn who_is_too_far_ahead_is_not_compared() {
        let mut compared = Compared::new();
        compared.append(false, &vec![0; MOST_AHEAD + 1]);
        compared.append(true, b"x");
        assert_eq!(compared.difference(), None);
    }
}

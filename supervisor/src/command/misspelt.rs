//! Names that are nearly right.

/// A question, if one of the names is nearly this one.
pub fn did_you_mean(name: &str, names: &[&str]) -> String {
    const MOST_SLIPS: usize = 2;
    let near = names.iter().map(|other| (strsim::damerau_levenshtein(name, other), other));
    match near.filter(|(slips, _)| *slips <= MOST_SLIPS).min() {
        Some((_, other)) => format!("; did you mean `{other}`?"),
        None => String::new(),
    }
}

//! What the command line of a benchmark asks for.

/// How much a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Enough to see that everything still runs; the figures mean little.
    Quick,
    /// Enough for figures to be believed.
    Full,
}

impl Effort {
    /// One of two values.
    pub fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// A benchmark's arguments: `--quick`, and the names of the parts to run; without names, all of them.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// How much is done: little with `--quick`, and little without the `--bench` that only `cargo bench` passes,
    /// because then the benchmark is run as a test.
    pub effort: Effort,
    parts: Vec<String>,
}

impl Arguments {
    pub fn new(words: impl IntoIterator<Item = String>) -> Self {
        let (options, parts): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.starts_with('-'));
        let has = |wanted: &str| options.iter().any(|option| option == wanted);
        let effort = if has("--bench") && !has("--quick") { Effort::Full } else { Effort::Quick };
        Self { effort, parts }
    }

    /// Whether a part is to be run.
    pub fn ask_for(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|asked| asked == part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn only_cargo_bench_measures_in_full() {
        assert_eq!(arguments("--bench").effort, Effort::Full);
        assert_eq!(arguments("--quick --bench").effort, Effort::Quick);
        assert_eq!(arguments("").effort, Effort::Quick);
    }

    #[test]
    fn parts_are_named() {
        assert!(arguments("--bench").ask_for("save"));
        assert!(arguments("save --bench").ask_for("save"));
        assert!(!arguments("tree --bench").ask_for("save"));
    }
}

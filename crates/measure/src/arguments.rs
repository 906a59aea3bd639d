//! Command line of benchmarks.

/// Amount of work of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Enough to check that everything runs; the figures mean little.
    Quick,
    /// Enough for reliable figures.
    Full,
}

impl Effort {
    /// Returns the value for this effort.
    pub fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// Arguments of a benchmark: `--quick`, and the parts to run; without parts, all of them.
#[derive(Debug, Clone)]
pub struct BenchArguments {
    /// Amount of work: quick with `--quick`, and also without the `--bench` that only `cargo bench` passes, because then the
    /// benchmark runs as a test.
    pub effort: Effort,
    parts: Vec<String>,
}

impl BenchArguments {
    pub fn new(words: impl IntoIterator<Item = String>) -> Self {
        let (options, parts): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word.starts_with('-'));
        let has = |wanted: &str| options.iter().any(|option| option == wanted);
        let effort = if has("--bench") && !has("--quick") { Effort::Full } else { Effort::Quick };
        Self { effort, parts }
    }

    /// Returns true if a part should run.
    pub fn ask_for(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|asked| asked == part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> BenchArguments {
        BenchArguments::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn only_cargo_bench_measures_in_full() {
        assert_eq!(arguments("--bench").effort, Effort::Full);
        assert_eq!(arguments("--quick --bench").effort, Effort::Quick);
        assert_eq!(arguments("").effort, Effort::Quick);
    }

    #[test]
    fn parts_are_selected_by_name() {
        assert!(arguments("--bench").ask_for("save"));
        assert!(arguments("save --bench").ask_for("save"));
        assert!(!arguments("tree --bench").ask_for("save"));
    }
}

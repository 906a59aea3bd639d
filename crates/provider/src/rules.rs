//! What is known of single models, as a table.

use crate::ProviderKind;

/// What is known of the models whose names begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRules {
    pub kind: ProviderKind,
    /// How their names begin; the longest that fits counts.
    pub prefix: &'static str,
    /// How prompts are cached.
    pub cache: CacheRules,
    /// How reasoning is asked for.
    pub reasoning: ReasoningRules,
}

/// How prompts are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRules {
    /// The fewest tokens that are cached; marking less is not an error, but of no use.
    pub minimum_tokens: u32,
    /// How many places may be marked; zero where the provider finds them itself.
    pub breakpoints: usize,
}

/// How reasoning is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningRules {
    Absent,
    /// By a word; the model decides how much to think.
    Effort,
    /// By a number of tokens.
    Budget,
}

impl ModelRules {
    /// The rules of a model.
    pub fn of(kind: ProviderKind, model: &str) -> &'static Self {
        let fitting = MODELS.iter().filter(|row| row.kind == kind && model.starts_with(row.prefix));
        fitting.max_by_key(|row| row.prefix.len()).unwrap_or(&UNKNOWN)
    }
}

/// The most places that Anthropic lets a request mark.
const BREAKPOINTS: usize = 4;

const fn anthropic(prefix: &'static str, minimum_tokens: u32, reasoning: ReasoningRules) -> ModelRules {
    let cache = CacheRules { minimum_tokens, breakpoints: BREAKPOINTS };
    ModelRules { kind: ProviderKind::Anthropic, prefix, cache, reasoning }
}

const fn openai(prefix: &'static str, reasoning: ReasoningRules) -> ModelRules {
    let cache = CacheRules { minimum_tokens: 1024, breakpoints: 0 };
    ModelRules { kind: ProviderKind::Openai, prefix, cache, reasoning }
}

/// For servers that speak a borrowed API: nothing is known of what is behind them.
const UNKNOWN: ModelRules = ModelRules {
    kind: ProviderKind::OpenaiCompatible,
    prefix: "",
    cache: CacheRules { minimum_tokens: 0, breakpoints: 0 },
    reasoning: ReasoningRules::Effort,
};

/// The table. A row without a prefix is for models newer than it.
const MODELS: &[ModelRules] = &[
    anthropic("", 1024, ReasoningRules::Effort),
    anthropic("claude-opus-5", 512, ReasoningRules::Effort),
    anthropic("claude-fable-5", 512, ReasoningRules::Effort),
    anthropic("claude-mythos-5", 512, ReasoningRules::Effort),
    anthropic("claude-mythos-preview", 4096, ReasoningRules::Effort),
    anthropic("claude-opus-4-8", 1024, ReasoningRules::Effort),
    anthropic("claude-opus-4-7", 4096, ReasoningRules::Effort),
    anthropic("claude-opus-4-6", 4096, ReasoningRules::Effort),
    anthropic("claude-sonnet-4-6", 1024, ReasoningRules::Effort),
    anthropic("claude-opus-4-5", 4096, ReasoningRules::Budget),
    anthropic("claude-haiku-4-5", 4096, ReasoningRules::Budget),
    anthropic("claude-opus-4", 1024, ReasoningRules::Budget),
    anthropic("claude-sonnet-4", 1024, ReasoningRules::Budget),
    anthropic("claude-3-7", 1024, ReasoningRules::Budget),
    anthropic("claude-3", 1024, ReasoningRules::Absent),
    anthropic("claude-3-haiku", 2048, ReasoningRules::Absent),
    anthropic("claude-3-5-haiku", 2048, ReasoningRules::Absent),
    openai("", ReasoningRules::Effort),
    openai("gpt-5-chat", ReasoningRules::Absent),
    openai("gpt-4", ReasoningRules::Absent),
    openai("gpt-3", ReasoningRules::Absent),
    openai("chatgpt", ReasoningRules::Absent),
    UNKNOWN,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        let minimum = |model: &str| ModelRules::of(ProviderKind::Anthropic, model).cache.minimum_tokens;
        assert_eq!(minimum("claude-opus-4-1-20250805"), 1024);
        assert_eq!(minimum("claude-opus-4-5-20251101"), 4096);
        assert_eq!(minimum("claude-opus-9"), 1024);
        assert_eq!(ModelRules::of(ProviderKind::OpenaiCompatible, "claude-opus-5").cache.breakpoints, 0);
    }

    #[test]
    fn no_row_allows_more_than_the_api() {
        assert!(MODELS.iter().all(|row| row.cache.breakpoints <= 4));
    }
}

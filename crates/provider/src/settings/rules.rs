//! A table of model properties.

use crate::ProviderKind;

/// Properties of models whose names have the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRules {
    pub kind: ProviderKind,
    /// Prefix of the names; the longest match wins.
    pub prefix: &'static str,
    /// Prompt caching.
    pub cache: CacheRules,
    /// Reasoning.
    pub reasoning: ReasoningRules,
}

/// Prompt caching of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRules {
    /// Fewest tokens that are cached. Marking less has no effect.
    pub minimum_tokens: u32,
    /// Most marks in a request; zero if the provider finds the prefix on its own.
    pub breakpoints: usize,
}

/// Format in which reasoning is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningRules {
    Absent,
    /// An effort level; the model decides how much to think.
    Effort,
    /// A number of tokens.
    Budget,
}

impl ModelRules {
    /// Returns the properties of a model.
    pub fn of(kind: ProviderKind, model: &str) -> &'static Self {
        let fitting = MODELS.iter().filter(|row| row.kind == kind && model.starts_with(row.prefix));
        fitting.max_by_key(|row| row.prefix.len()).unwrap_or(&UNKNOWN)
    }
}

/// Most marks that Anthropic accepts in a request.
const BREAKPOINTS: usize = 4;

const fn anthropic(prefix: &'static str, minimum_tokens: u32, reasoning: ReasoningRules) -> ModelRules {
    let cache = CacheRules { minimum_tokens, breakpoints: BREAKPOINTS };
    ModelRules { kind: ProviderKind::Anthropic, prefix, cache, reasoning }
}

const fn openai(prefix: &'static str, reasoning: ReasoningRules) -> ModelRules {
    let cache = CacheRules { minimum_tokens: 1024, breakpoints: 0 };
    ModelRules { kind: ProviderKind::Openai, prefix, cache, reasoning }
}

/// Properties of servers with an imitated API: nothing is known about their models.
const UNKNOWN: ModelRules = ModelRules {
    kind: ProviderKind::OpenaiCompatible,
    prefix: "",
    cache: CacheRules { minimum_tokens: 0, breakpoints: 0 },
    reasoning: ReasoningRules::Effort,
};

/// The table. A row without a prefix covers newer models.
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
    fn longest_prefix_wins() {
        let minimum = |model: &str| ModelRules::of(ProviderKind::Anthropic, model).cache.minimum_tokens;
        assert_eq!(minimum("claude-opus-4-1-20250805"), 1024);
        assert_eq!(minimum("claude-opus-4-5-20251101"), 4096);
        assert_eq!(minimum("claude-opus-9"), 1024);
        assert_eq!(ModelRules::of(ProviderKind::OpenaiCompatible, "claude-opus-5").cache.breakpoints, 0);
    }

    #[test]
    fn no_row_exceeds_the_limit_of_the_api() {
        assert!(MODELS.iter().all(|row| row.cache.breakpoints <= 4));
    }
}

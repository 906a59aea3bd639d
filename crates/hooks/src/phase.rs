//! The moments of a turn at which hooks run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment of a turn at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Before it is decided what the turn may do.
    #[serde(rename = "turn.pre_policy")]
    PrePolicy,
    /// Before the context that sections are made from is gathered.
    #[serde(rename = "turn.pre_prompt_context")]
    PrePromptContext,
    /// Before the turn's tools are listed.
    #[serde(rename = "turn.pre_tool_materialization")]
    PreToolMaterialization,
    /// Before the prompt is compiled: where sections are contributed.
    #[serde(rename = "turn.pre_prompt_compile")]
    PrePromptCompile,
    /// After the prompt was compiled.
    #[serde(rename = "turn.post_prompt_compile")]
    PostPromptCompile,
    /// After the turn has ended.
    #[serde(rename = "turn.post_turn")]
    PostTurn,
    /// Before older history is summarised.
    #[serde(rename = "turn.pre_compaction")]
    PreCompaction,
}

impl Phase {
    /// All phases, in the order of their declaration.
    pub const ALL: [Self; 7] = [
        Self::PrePolicy,
        Self::PrePromptContext,
        Self::PreToolMaterialization,
        Self::PrePromptCompile,
        Self::PostPromptCompile,
        Self::PostTurn,
        Self::PreCompaction,
    ];

    /// The name that records and errors use.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrePolicy => "turn.pre_policy",
            Self::PrePromptContext => "turn.pre_prompt_context",
            Self::PreToolMaterialization => "turn.pre_tool_materialization",
            Self::PrePromptCompile => "turn.pre_prompt_compile",
            Self::PostPromptCompile => "turn.post_prompt_compile",
            Self::PostTurn => "turn.post_turn",
            Self::PreCompaction => "turn.pre_compaction",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_serialised_as_its_name() {
        for phase in Phase::ALL {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
    }
}

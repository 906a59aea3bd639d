//! The agents whose transcripts can be read.

use instructions::{CLAUDE_CODE, CODEX, COPILOT, FOREWORD, GEMINI_CLI, OPENCODE, PI, Profile, QWEN_CODE};
use serde::{Deserialize, Serialize};

/// An agent that leaves transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptAgent {
    ClaudeCode,
    Codex,
    GeminiCli,
    QwenCode,
    Opencode,
    Pi,
    Copilot,
    /// The gateway's own threads, which are not files.
    Foreword,
}

/// All agents with transcripts on disk.
pub const AGENTS: &[TranscriptAgent] = &[
    TranscriptAgent::ClaudeCode,
    TranscriptAgent::Codex,
    TranscriptAgent::GeminiCli,
    TranscriptAgent::QwenCode,
    TranscriptAgent::Opencode,
    TranscriptAgent::Pi,
    TranscriptAgent::Copilot,
];

impl TranscriptAgent {
    /// Returns the rules of the agent.
    pub fn profile(self) -> &'static Profile {
        match self {
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Codex => &CODEX,
            Self::GeminiCli => &GEMINI_CLI,
            Self::QwenCode => &QWEN_CODE,
            Self::Opencode => &OPENCODE,
            Self::Pi => &PI,
            Self::Copilot => &COPILOT,
            Self::Foreword => &FOREWORD,
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        self.profile().name
    }

    /// Returns the name of the product.
    pub fn title(self) -> &'static str {
        self.profile().agent.title
    }

    /// Returns the agent with this name.
    pub fn find(name: &str) -> Option<Self> {
        AGENTS.iter().copied().find(|agent| agent.name() == name)
    }
}

//! The profiles, one module for each agent.

pub(super) mod claude_code;
pub(super) mod codelia;
pub(super) mod codex;
pub(super) mod copilot;
pub(super) mod cursor;
pub(super) mod foreword;
pub(super) mod gemini_cli;
pub(super) mod goose;
pub(super) mod opencode;
pub(super) mod pi;
pub(super) mod qwen_code;
pub(super) mod zed;

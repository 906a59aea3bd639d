//! The profiles, one module for each agent.

pub(super) mod aider;
pub(super) mod amp;
pub(super) mod antigravity;
pub(super) mod claude_code;
pub(super) mod cline;
pub(super) mod codelia;
pub(super) mod codex;
pub(super) mod continue_dev;
pub(super) mod copilot;
pub(super) mod cursor;
pub(super) mod devin;
pub(super) mod droid;
pub(super) mod foreword;
pub(super) mod gemini_cli;
pub(super) mod goose;
pub(super) mod grok;
pub(super) mod junie;
pub(super) mod kilo;
pub(super) mod kimi;
pub(super) mod opencode;
pub(super) mod pi;
pub(super) mod qwen_code;
pub(super) mod zed;

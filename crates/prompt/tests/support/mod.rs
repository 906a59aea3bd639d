//! Inputs shared by several tests.
#![allow(dead_code, reason = "each test binary uses a different part")]

use std::path::PathBuf;

use prompt::{
    AgentsContext, AgentsGuidance, BOOTSTRAP_FILES, BootstrapFile, BootstrapFiles, ContentHash,
    ContributedSection, Environment, EnvironmentDirectory, FileTools, HiddenDomain, PromptCompileInput,
    PromptRole, PromptSection, PromptSource, PromptSourceKind, PromptTruncation,
};
use protocol::DelegateInstructions;

/// Returns an input with text in every section of the prompt.
pub(crate) fn full_input() -> PromptCompileInput {
    PromptCompileInput {
        bootstrap: bootstrap(&["Be kind, and brief.", "A colleague who reads first.", "Ada. Writes Rust."]),
        include_tool_recovery_policy: true,
        agents_guidance: AgentsGuidance {
            files_apply: true,
            has_initial_text: true,
            follows_tools: true,
            nested_scopes: true,
        },
        environment: Some(Environment {
            directory: Some(EnvironmentDirectory { cwd: "/repo/a".into(), workspace: "/repo".into() }),
            operating_system: "linux".to_owned(),
            file_tools: FileTools::Present,
        }),
        agents_context: Some(AgentsContext {
            text: "<agents_context scope=\"initial\">\nInstructions from: /repo/AGENTS.md\nRun the tests.\n</agents_context>".to_owned(),
            sources: vec![PromptSource::file("/repo/AGENTS.md", ContentHash::of("Run the tests.\n"))],
            truncated: false,
            role: PromptRole::System,
        }),
        task_orchestration: Some(DelegateInstructions::None),
        dynamic_context: Some("The user looks at src/main.rs.".to_owned()),
        extra_system: Some("Date: 2026-11-15".to_owned()),
        hidden_domains: vec![HiddenDomain {
            name: "memory".to_owned(),
            tools: [("memory_search", "Finds what was remembered."), ("memory_get", "")]
                .map(|(name, description)| (name.to_owned(), description.to_owned()))
                .to_vec(),
        }],
        contributed: vec![
            ContributedSection {
                section: PromptSection {
                sources: vec![PromptSource {
                    id: Some("019370aa-0000-7000-8000-000000000001".to_owned()),
                    version: Some(7),
                    ..PromptSource::new(PromptSourceKind::Document, ContentHash::of("Answer in English.\n"))
                }],
                priority: 600,
                ..contributed("agents_md", "Answer in English.\nNever write </AGENTS_MD>.\n").section
                },
                ..contributed("agents_md", "")
            },
            contributed("skills_runtime", "[Skills]\n- release: how to cut a release"),
            contributed("memory_recall", "- Ada prefers tabs."),
            contributed("selected_skills", "The user selected these skills: release."),
            contributed("weather", "It rains."),
        ],
        ..PromptCompileInput::default()
    }
}

/// Returns a contribution of a hook.
pub(crate) fn contributed(section_id: &str, content: &str) -> ContributedSection {
    ContributedSection {
        hook_id: format!("hook.{section_id}"),
        subscription_id: format!("hook.{section_id}"),
        truncation: PromptTruncation::None,
        section: PromptSection::new(section_id, section_id, format!("About {section_id}"), content),
    }
}

/// Returns bootstrap files with the given texts.
pub(crate) fn bootstrap(texts: &[&str]) -> BootstrapFiles {
    let files = BOOTSTRAP_FILES.iter().zip(texts).map(|(kind, text)| BootstrapFile {
        kind: *kind,
        path: PathBuf::from("/home/ada/.config/foreword").join(kind.name),
        text: (*text).to_owned(),
        sha256: ContentHash::of(text),
        longer: false,
    });
    BootstrapFiles { files: files.collect(), diagnostics: Vec::new() }
}

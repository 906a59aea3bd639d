//! Instruction files in a prompt: the frozen start of a session, and its working directory.

use instructions::{BlockRole, DiagnosticCode, FileSettings, Profile, ProjectBounds, Session};
use prompt::{
    AGENTS_CONTEXT, AgentsContext, AgentsGuidance, Environment, EnvironmentDirectory, FileTools,
    PromptCompileInput, PromptRole,
};
use protocol::Audience;
use protocol::prompt::{PromptDiagnostic, PromptDiagnosticCode, PromptSource};
use tools::Permission;

use crate::directory::WorkingDirectory;
use crate::domains::delegation::DELEGATE;
use crate::settings::AgentSettings;
use crate::turn::tools::RoundTools;

/// A session, its current settings, and the file tools of its turns.
pub(crate) struct SessionFiles<'a> {
    pub(crate) session: &'a Session,
    pub(crate) settings: &'a FileSettings,
    pub(crate) file_tools: FileTools,
}

/// Adds a session's instruction files and directory to the compiler's input.
pub(crate) fn add_files(
    input: &mut PromptCompileInput,
    settings: &AgentSettings,
    files: Option<&SessionFiles<'_>>,
) {
    let session = files.map(|files| files.session);
    input.agents_context = session.and_then(agents_context);
    input.diagnostics.extend(session.into_iter().flat_map(about_files));
    input.agents_guidance = files.map(|files| guidance(files, settings)).unwrap_or_default();
    input.environment = Some(environment(files));
    let has_tools = files.is_some_and(|files| files.file_tools == FileTools::Present);
    // Advice on failed tool calls is useless if there are no tools.
    input.include_tool_recovery_policy &= has_tools;
    let permissions = settings.turns.permissions;
    // Do not invite the model to edit its identity files if each attempt would be denied. They are those of the agent that the
    // user talks to, so a delegate has none.
    input.can_evolve = has_tools
        && input.audience == Audience::Main
        && permissions.write.min(permissions.identity) != Permission::Deny;
}

/// Adds the directory of a delegate that reads no instructions, and a record of what it does not read.
pub(crate) fn add_goal_only(
    input: &mut PromptCompileInput,
    directory: Option<&WorkingDirectory>,
    file_tools: FileTools,
) {
    let directory = directory.map(|directory| {
        let workspace = directory.settings.bounds.workspace().unwrap_or(&directory.cwd).to_owned();
        EnvironmentDirectory { cwd: directory.cwd.clone(), workspace }
    });
    input.environment =
        Some(Environment { directory, operating_system: std::env::consts::OS.to_owned(), file_tools });
    input.include_tool_recovery_policy = file_tools == FileTools::Present;
    let message =
        "a delegate reads no instruction files, skills and memories (delegation.instructions = none)";
    let omitted = PromptDiagnostic::new(PromptDiagnosticCode::SectionOmitted, message);
    input.diagnostics.push(omitted.in_section(AGENTS_CONTEXT));
}

/// Adds the advice about delegation if the tool for it is in the request.
pub(crate) fn add_delegation(input: &mut PromptCompileInput, settings: &AgentSettings, tools: &RoundTools) {
    let has_tool = tools.specs().iter().any(|spec| spec.name == DELEGATE);
    input.task_orchestration = has_tool.then_some(settings.delegation.instructions);
}

/// Returns the facts about instruction files that the guidance depends on.
fn guidance(files: &SessionFiles<'_>, settings: &AgentSettings) -> AgentsGuidance {
    let SessionFiles { session, settings: file_settings, file_tools } = files;
    let has_initial_text = session.initial.text.is_some();
    let follows_tools = file_settings.resolver_enabled() && *file_tools == FileTools::Present;
    AgentsGuidance {
        files_apply: file_settings.enabled() && (has_initial_text || follows_tools),
        has_initial_text,
        follows_tools,
        nested_scopes: settings.prompt.nested_scope_rules && file_settings.bounds != ProjectBounds::HomeOnly,
    }
}

/// Returns the working environment as it was when the session started.
fn environment(files: Option<&SessionFiles<'_>>) -> Environment {
    let directory = files.and_then(|SessionFiles { session, settings, .. }| {
        let initial = &session.initial;
        let cwd = initial.cwd.clone()?;
        let workspace = match &settings.bounds {
            // Outside of a workspace, the project root is what a workspace would be created for.
            ProjectBounds::None => session.root.clone().unwrap_or_else(|| cwd.clone()),
            ProjectBounds::Workspace(_) | ProjectBounds::HomeOnly => initial.workspace.clone()?,
        };
        Some(EnvironmentDirectory { cwd, workspace })
    });
    Environment {
        directory,
        operating_system: std::env::consts::OS.to_owned(),
        file_tools: files.map_or(FileTools::Absent, |files| files.file_tools),
    }
}

/// Returns the frozen start of a session.
fn agents_context(session: &Session) -> Option<AgentsContext> {
    let text = session.initial.text.clone()?;
    let sources = session.initial.files.iter().map(|path| {
        // A file may have been loaded again later. The frozen text came from the initial version.
        let versions = [&session.initial.versions, &session.loaded_versions];
        let loaded = versions.iter().find_map(|known| known.get(path)).map(|version| version.sha256.clone());
        PromptSource::file(path.to_string_lossy(), loaded)
    });
    let truncated = session.initial.is_truncated();
    let role = match Profile::find(&session.profile).map(|profile| profile.render.role) {
        Some(BlockRole::User) => PromptRole::User,
        _ => PromptRole::System,
    };
    Some(AgentsContext { text, sources: sources.collect(), truncated, role })
}

/// Returns the diagnostics about the files of the frozen start.
fn about_files(session: &Session) -> Vec<PromptDiagnostic> {
    let findings = session.initial.findings.iter().map(|finding| {
        let (code, message) = match finding.code {
            DiagnosticCode::Truncated => {
                (PromptDiagnosticCode::SectionTruncated, "the file is cut to the limit of agents.initial")
            }
            DiagnosticCode::OverBudget => (
                PromptDiagnosticCode::SectionTruncated,
                "no part of the file fits into the limit of agents.initial",
            ),
            DiagnosticCode::TooDeep => {
                (PromptDiagnosticCode::SectionOmitted, "the file is imported too deeply, so it is not read")
            }
            DiagnosticCode::TooManyImports => {
                (PromptDiagnosticCode::SectionOmitted, "the file has more imports than the limit")
            }
            DiagnosticCode::InvalidFrontMatter => (
                PromptDiagnosticCode::FileReadError,
                "its front matter is invalid and treated as text; see `foreword explain`",
            ),
            DiagnosticCode::NotAFile => {
                (PromptDiagnosticCode::FileReadError, "it is not a regular file, so it is not read")
            }
            DiagnosticCode::OutsideRoot => {
                (PromptDiagnosticCode::FileReadError, "it leads out of the project, so it is not read")
            }
            DiagnosticCode::AboveRoot => (
                PromptDiagnosticCode::SectionOmitted,
                "the file is above the workspace's directory and ignored; move root_path up to include it",
            ),
            DiagnosticCode::Unreadable => (PromptDiagnosticCode::FileReadError, "the file cannot be read"),
            DiagnosticCode::InvalidUtf8 => {
                (PromptDiagnosticCode::FileReadError, "bytes that are not UTF-8 are shown as U+FFFD")
            }
            DiagnosticCode::ChangedWhileRead => {
                (PromptDiagnosticCode::FileReadError, "the file kept changing while it was read")
            }
            DiagnosticCode::WrapperTag | DiagnosticCode::HiddenUnicode => (
                PromptDiagnosticCode::UnsafeText,
                "tags of ours or hidden characters in it were made visible",
            ),
            DiagnosticCode::ZeroWidth => {
                (PromptDiagnosticCode::UnsafeText, "it contains invisible characters")
            }
            DiagnosticCode::SettingNotFollowed => (
                PromptDiagnosticCode::SectionOmitted,
                "it has an unsupported setting that changes what the agent reads",
            ),
            DiagnosticCode::DanglingMarker | DiagnosticCode::Other => {
                (PromptDiagnosticCode::FileReadError, "the file has a finding; see `foreword explain`")
            }
        };
        let path = finding.path.to_string_lossy();
        PromptDiagnostic::new(code, message).in_section(AGENTS_CONTEXT).in_file(path)
    });
    findings.collect()
}

//! Problems on disk: links, hazards, encodings, unreadable files.

use std::path::Path;

use instructions::Profile;
use instructions::profile::{BrokenSettings, JsonSettings, SettingsFile, StartupHazards};

use crate::document::{self, Encoding};
use crate::finding::{Finding, Findings, titles};
use crate::project::{Entry, Kind, Project};
use crate::rule::RuleId;

pub(super) fn run(project: &Project, findings: &mut Findings<'_>) {
    for entry in project.entries.iter().filter(|entry| entry.known.is_some()) {
        look_at(project, entry, findings);
    }
    for document in &project.documents {
        let finding = |message: &str| Finding::new(RuleId::Encoding, &document.path, message);
        findings.push(match document.encoding {
            Encoding::Utf8 => continue,
            Encoding::Utf16 => {
                finding("it is UTF-16, which arrives at every agent as rubbish; save it as UTF-8").fixable()
            }
            Encoding::Invalid { line } => {
                finding("it has bytes that are not UTF-8, which become replacement characters").at_line(line)
            }
            Encoding::ZeroBytes { line } => {
                finding("it has zero bytes, which every agent passes on").at_line(line)
            }
        });
    }
    for (path, reason) in &project.unreadable {
        findings.push(Finding::new(RuleId::Unreadable, path, format!("it cannot be read: {reason}")));
    }
    for problem in &project.problems {
        let message = format!("a part of the tree cannot be looked at: {problem}");
        findings.push(Finding::new(RuleId::Unreadable, &project.directory, message));
    }
    let mut directories: Vec<&Path> = project.chains.iter().map(|chain| &*chain.directory).collect();
    // Settings are usually at the root, which may have no instruction files or be outside the checked part.
    directories.push(&project.root);
    directories.sort_unstable();
    directories.dedup();
    for agent in &project.agents {
        if let Some(settings) = agent.settings_file() {
            for directory in &directories {
                look_at_settings(project, agent, &settings, directory, findings);
            }
        }
        if let Some(settings) = agent.json_settings().filter(|json| json.broken.1 == BrokenSettings::Refused)
        {
            for directory in &directories {
                look_at_json(project, agent, &settings, directory, findings);
            }
        }
    }
}

fn look_at(project: &Project, entry: &Entry, findings: &mut Findings<'_>) {
    let finding = |rule, message: String| Finding::new(rule, &entry.path, message);
    let agents = |is_caught: fn(&StartupHazards) -> bool| -> Vec<&'static Profile> {
        let reads = |agent: &&&'static Profile| {
            is_caught(&agent.agent.hazards) && agent.known_names().any(|name| entry.path.ends_with(name))
        };
        project.agents.iter().filter(reads).copied().collect()
    };
    match entry.kind {
        Kind::File | Kind::LinkToFile { outside: false } => {}
        Kind::LinkToFile { outside: true } => {
            let message = "it is a link that leads out of the project; copy the file into it";
            findings.push(finding(RuleId::LinkOutside, message.to_owned()));
        }
        Kind::LinkToNothing => {
            let target = std::fs::read_link(&entry.path).unwrap_or_default();
            let target = crate::finding::quoted(&target.to_string_lossy());
            findings.push(finding(
                RuleId::LinkToNothing,
                format!("it is a link to {target}, which is not there"),
            ));
        }
        Kind::Circle => {
            let ended = agents(|traps| traps.link_circle);
            let who =
                if ended.is_empty() { String::new() } else { format!("; {} ends there", titles(&ended)) };
            let message = format!("it is a link that leads back to itself{who}");
            findings.push(finding(RuleId::Trap, message).for_agents(&ended));
        }
        Kind::Other(kind @ ("pipe" | "device" | "socket")) => {
            let waiting = if kind == "pipe" { agents(|traps| traps.pipe) } else { Vec::new() };
            let who = match waiting.as_slice() {
                [] => "no agent can read it".to_owned(),
                [one] => format!("{} waits for it forever when it starts", one.agent.title),
                many => format!("{} wait for it forever when they start", titles(many)),
            };
            let message = format!("it is a {kind} and no file; {who}");
            findings.push(finding(RuleId::Trap, message).for_agents(&waiting));
        }
        Kind::Other(kind) => {
            let message = format!("it is a {kind} and no file, and no agent reads it");
            findings.push(finding(RuleId::Trap, message));
        }
    }
}

/// Checks JSON settings with which the agent would not start.
fn look_at_json(
    project: &Project,
    agent: &&'static Profile,
    settings: &JsonSettings,
    directory: &Path,
    findings: &mut Findings<'_>,
) {
    for path in settings.in_project.iter().map(|path| directory.join(path)) {
        let instructions::file::Found::File { content, .. } = document::read(&project.root, &path) else {
            continue;
        };
        // The part of an oversized file is not valid JSON, although the whole may be.
        if !content.whole {
            continue;
        }
        if let Err(error) = instructions::settings_object(&content.bytes, settings.byte_order_mark) {
            let message = format!("{} does not start here: {error}", agent.agent.title);
            let finding = Finding::new(RuleId::AgentRefuses, &path, message).for_agents([agent]);
            findings.push(finding.at_line(error.line().max(1)));
        }
    }
}

/// Checks a TOML settings file with which the agent would not start.
fn look_at_settings(
    project: &Project,
    agent: &&'static Profile,
    settings: &SettingsFile,
    directory: &Path,
    findings: &mut Findings<'_>,
) {
    let path = directory.join(settings.in_project);
    let instructions::file::Found::File { content, .. } = document::read(&project.root, &path) else {
        return;
    };
    let text = String::from_utf8_lossy(&content.bytes);
    if let Err(error) = text.parse::<toml::Table>() {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let problem = error.message().lines().next().unwrap_or_default().to_owned();
        let message =
            format!("{} does not start here once the project is trusted: {problem}", agent.agent.title);
        let mut finding = Finding::new(RuleId::AgentRefuses, &path, message).for_agents([agent]);
        finding.line = line;
        findings.push(finding);
    }
}

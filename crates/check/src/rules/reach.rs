//! Coverage: unread files, lost text, blank files, agents without files, unchecked files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use compare::grouped;
use instructions::profile::{Blank, NameChoice, OverLimit};
use instructions::{CLAUDE_CODE, PROFILES, Profile};

use crate::document::{Document, Loss};
use crate::finding::{Finding, Findings, list, quoted, titles};
use crate::others::{OTHERS, is_ambiguous};
use crate::project::{Kind, Known, Project};
use crate::rule::RuleId;
use crate::shadowed::Shadow;

pub(super) fn run(project: &Project, findings: &mut Findings<'_>) {
    for document in &project.documents {
        lost_text(project, document, findings);
        blank(project, document, findings);
        shadowed(project, document, findings);
    }
    for entry in &project.entries {
        let document = project.document(&entry.path);
        match (entry.known, document) {
            (Some(Known::Variant(name)), Some(document)) => letter_case(document, name, findings),
            (Some(_), Some(document)) if document.readers.is_empty() => unread(project, document, findings),
            _ => {}
        }
    }
    agents_without_any(project, findings);
    not_judged(project, findings);
}

fn unread(project: &Project, document: &Document, findings: &mut Findings<'_>) {
    // A blank file has no text to lose, and a CONTEXT.md that no agent reads is most likely a page for people.
    if document.is_blank() || is_ambiguous(&document.path) {
        return;
    }
    let shadowing = project.documents.iter().find(|other| {
        other.directory == document.directory && other.path != document.path && !other.readers.is_empty()
    });
    let beside = shadowing
        .map_or_else(String::new, |other| format!("; they read {} beside it", quoted(&other.name())));
    let who = match project.agents.as_slice() {
        [one] => format!("{} does not read it in any directory", one.agent.title),
        agents => format!("none of the {} agents reads it in any directory{beside}", agents.len()),
    };
    findings.push(Finding::new(RuleId::UnreadFile, &document.path, who));
}

fn letter_case(document: &Document, name: &str, findings: &mut Findings<'_>) {
    let readers = match document.readers.as_slice() {
        [] => "no agent reads it".to_owned(),
        [one] => format!("only {} reads it", one.agent.title),
        many => format!("only {} read it", titles(many)),
    };
    let message = format!("names are read as they are written, so {readers}; rename it to `{name}`");
    findings.push(Finding::new(RuleId::LetterCase, &document.path, message));
}

/// Adds one finding per file, with the largest loss of each agent.
fn lost_text(project: &Project, document: &Document, findings: &mut Findings<'_>) {
    let mut worst: Vec<(&Loss, usize)> = Vec::new();
    for agent in &document.readers {
        let losses = || document.losses.iter().filter(|loss| loss.agent == *agent && loss.lost > 0);
        // Of equal losses, the directory nearest to the root is reported.
        let key = |loss: &&Loss| (loss.lost, std::cmp::Reverse(loss.directory.components().count()));
        worst.extend(losses().max_by_key(key).map(|loss| (loss, losses().count())));
    }
    if worst.is_empty() {
        return;
    }
    let sentences = worst.iter().map(|(loss, directories)| {
        let size = loss.kept + loss.lost;
        let what = match loss.kept {
            0 => format!("all {} bytes", grouped(size)),
            _ => format!("the last {} of {} bytes", grouped(loss.lost), grouped(size)),
        };
        let place = match *directories - 1 {
            0 => String::new(),
            1 => " and one other directory".to_owned(),
            more => format!(" and {} other directories", grouped(more as u64)),
        };
        let how = match loss.agent.budget.over_limit {
            OverLimit::NearestFirst => "leaves out",
            OverLimit::RootFirst | OverLimit::StopsAtFirst => "silently drops",
        };
        let who = loss.agent.agent.title;
        let place = format!("when started in {}{place}", project.shown(&loss.directory));
        format!("{who} {how} {what} {place} (it reads {} bytes of project files)", grouped(loss.limit))
    });
    let message = sentences.collect::<Vec<_>>().join("; ");
    let agents: Vec<&'static Profile> = worst.iter().map(|(loss, _)| loss.agent).collect();
    // The finding points at the first line that any of the agents loses.
    let kept = worst.iter().map(|(loss, _)| loss.kept).min().unwrap_or(0);
    let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(document.bytes.len());
    let line = 1 + document.bytes[..kept].iter().filter(|byte| **byte == b'\n').count();
    findings.push(Finding::new(RuleId::LostText, &document.path, message).at_line(line).for_agents(&agents));
}

fn blank(project: &Project, document: &Document, findings: &mut Findings<'_>) {
    if !document.is_blank() {
        return;
    }
    let mut hidden: BTreeMap<&str, Vec<&'static Profile>> = BTreeMap::new();
    for agent in &project.agents {
        let hides = agent.choose.choice != NameChoice::All && agent.choose.blank != Blank::FallsThrough;
        let names: Vec<&'static str> = agent.main_names().collect();
        let place = names.iter().position(|name| document.directory.join(name) == document.path);
        let (true, Some(place)) = (hides, place) else { continue };
        let has_text = |name: &&'static str| {
            let other = project.document(&document.directory.join(name));
            other.is_some_and(|other| !other.is_blank())
        };
        if let Some(name) = names[place + 1..].iter().copied().find(has_text) {
            hidden.entry(name).or_default().push(agent);
        }
    }
    for (name, agents) in hidden {
        let verb = if agents.len() == 1 { "does" } else { "do" };
        let message = format!(
            "it is blank, and still keeps {} from {}: {} {verb} not read that",
            if agents.len() == 1 { "an agent" } else { "agents" },
            quoted(name),
            titles(&agents)
        );
        findings.push(Finding::new(RuleId::BlankFileHides, &document.path, message).for_agents(&agents));
    }
}

/// Adds files that an agent would read in their directory if no other file came first.
fn shadowed(project: &Project, document: &Document, findings: &mut Findings<'_>) {
    for Shadow { agent, by, is_named } in &document.shadows {
        let title = agent.agent.title;
        let first = agent.main_names().next().unwrap_or_default();
        let is_beside = by.parent() == Some(&*document.directory);
        let place = if is_beside { "beside it" } else { "above it" };
        let name = document.name();
        let advice = match (is_beside, is_named) {
            // An import in both directions would be a circle.
            (true, true) => "which it names already: move its text there".to_owned(),
            (true, false) => format!("to which you can add the line `@{name}`"),
            (false, _) if **agent == CLAUDE_CODE && name == "AGENTS.md" => {
                format!("and `foreword sync` puts a {first} beside it that links to it")
            }
            (false, _) => format!("and a {first} beside it that imports or links to it would be read"),
        };
        let message = format!(
            "{title} does not read it when started here, because {} {place} comes first, {advice}",
            project.shown(by)
        );
        findings.push(Finding::new(RuleId::ShadowedFile, &document.path, message).for_agents([agent]));
    }
}

fn agents_without_any(project: &Project, findings: &mut Findings<'_>) {
    let is_read = project.documents.iter().any(|document| !document.readers.is_empty());
    // Files that are known to agents outside the current selection.
    let is_known = |path: &Path| {
        PROFILES.iter().any(|agent| agent.known_names().any(|name| path.ends_with(name)))
            && !is_ambiguous(path)
    };
    let mut elsewhere = project.entries.iter().filter(|entry| entry.known.is_none());
    // In a tree without any instructions, a finding per agent would be noise: nothing suggests that the project uses
    // agents at all.
    if !is_read && !elsewhere.any(|entry| is_known(&entry.path)) {
        return;
    }
    let reads =
        |agent: &&'static Profile| project.documents.iter().any(|document| document.readers.contains(agent));
    let without: Vec<&'static Profile> =
        project.agents.iter().filter(|agent| !reads(agent)).copied().collect();
    for agent in without {
        let names = list(agent.known_names().map(quoted), "or");
        let message = format!("{} reads nothing in this tree: it looks for {names}", agent.agent.title);
        findings
            .push(Finding::new(RuleId::AgentReadsNothing, &project.directory, message).for_agents([&agent]));
    }
}

fn not_judged(project: &Project, findings: &mut Findings<'_>) {
    let mut found: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for entry in project.entries.iter().filter(|entry| entry.known.is_none()) {
        let whose = OTHERS.iter().find(|(name, _)| {
            // Below the root, `.rules` is too common a name, and in hidden folders any single name is.
            entry.path.ends_with(name)
                && (*name != ".rules" || entry.directory == project.root)
                && !project.is_in_hidden(&entry.path, name)
        });
        let Some((name, agent)) = whose else { continue };
        let fits = match entry.kind {
            Kind::Other(kind) => kind == "directory" && has_files(&entry.path),
            _ => !name.ends_with("/rules"),
        };
        if fits {
            found.entry(agent).or_default().push(entry.path.clone());
        }
    }
    for (agent, paths) in found {
        let Some(first) = paths.first() else { continue };
        let message = match paths.len() - 1 {
            0 => format!("it is for {agent}, which is not judged"),
            more => format!("it is for {agent}, which is not judged, like {more} more"),
        };
        findings.push(Finding::new(RuleId::NotJudged, first, message));
    }
}

fn has_files(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

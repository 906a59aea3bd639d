//! From files to the text an agent gets.

use std::path::Path;

use serde::Serialize;

use crate::profile::{Profile, Rendering, Role};
use crate::safety::neutralise;

/// Headings named in the mark of a cut file; the rest is counted.
const MOST_HEADINGS: usize = 30;

/// A piece of text and where the agent puts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Where it goes.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// One file's part of the text.
pub(crate) struct Part<'a> {
    pub(crate) path: &'a Path,
    pub(crate) home: bool,
    /// Decoded, and harmless where the profile makes it so.
    pub(crate) text: String,
    /// The mark of a cut file.
    pub(crate) mark: Option<String>,
}

/// The blocks of a whole chain; none when nothing applies.
pub(crate) fn render(profile: &Profile, cwd: &Path, parts: &[Part<'_>]) -> Vec<Block> {
    if parts.is_empty() {
        return Vec::new();
    }
    let text = match profile.rendering {
        Rendering::AgentsContext => {
            let blocks: Vec<String> = parts.iter().map(block).collect();
            format!("<agents_context scope=\"initial\">\n{}\n</agents_context>", blocks.join("\n\n"))
        }
        Rendering::Instructions => instructions(cwd, parts),
    };
    vec![Block { role: profile.role, text }]
}

/// One file under the line that names it.
pub(crate) fn block(part: &Part<'_>) -> String {
    let mut text = format!("Instructions from: {}\n{}", shown(part.path), part.text.trim_end());
    if let Some(mark) = &part.mark {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(mark);
    }
    text
}

fn instructions(cwd: &Path, parts: &[Part<'_>]) -> String {
    let texts = |home: bool| -> Vec<&str> {
        parts.iter().filter(|part| part.home == home).map(|part| part.text.as_str()).collect()
    };
    let (home, project) = (texts(true).join("\n\n"), texts(false));
    let place = if project.is_empty() { String::new() } else { format!(" for {}", cwd.display()) };
    let separator = if home.is_empty() || project.is_empty() { "" } else { "\n\n--- project-doc ---\n\n" };
    let body = format!("{home}{separator}{}", project.join("\n\n"));
    format!("# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>")
}

/// The line that tells what a cut left out.
pub(crate) fn mark(path: &Path, kept: usize, size: u64, omitted: &[String]) -> String {
    let mut headings: Vec<String> =
        omitted.iter().take(MOST_HEADINGS).map(|heading| neutralise(heading).into_owned()).collect();
    if omitted.len() > MOST_HEADINGS {
        headings.push(format!("and {} more", omitted.len() - MOST_HEADINGS));
    }
    let headings = if headings.is_empty() { "none".to_owned() } else { headings.join("; ") };
    format!(
        "[foreword: {kept} of {size} bytes shown; omitted headings: {headings}. Read {} for the rest.]",
        shown(path)
    )
}

/// A path in a text: one line, and no tag of ours, whatever somebody called a directory.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    neutralise(&plain).into_owned()
}

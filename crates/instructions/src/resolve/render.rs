//! From files to the text an agent gets.

use std::path::Path;

use serde::Serialize;

use crate::fs::path;
use crate::profile::{BlockForm, BlockRole, PartOf, PathForm, Piece, Profile, Rendering, SectionForm};
use crate::text::safety::{make_harmless, neutralise};
use crate::text::transform::Waiting;

/// Headings named in the mark of a cut file; the rest is counted.
const MAX_HEADINGS: usize = 30;

/// A piece of text and where the agent puts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// Where it goes.
    pub role: BlockRole,
    /// The text.
    pub text: String,
}

/// One file's part of the text.
pub(crate) struct Part<'a> {
    pub(crate) path: &'a Path,
    pub(crate) home: bool,
    /// Decoded, and harmless where the profile makes it so.
    pub(crate) text: &'a str,
    /// The mark of a cut file.
    pub(crate) mark: Option<String>,
    /// Whether it is from a folder of rules.
    pub(crate) is_rule: bool,
    /// Whether it is one user's alone.
    pub(crate) is_private: bool,
}

impl<'a> Part<'a> {
    pub(crate) fn of_project(path: &'a Path, text: &'a str, mark: Option<String>) -> Self {
        Self { path, home: false, text, mark, is_rule: false, is_private: false }
    }
}

/// Where an agent is.
#[derive(Clone, Copy)]
pub(crate) struct AgentLocation<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) root: &'a Path,
}

/// The blocks of a whole chain; none when nothing applies.
pub(crate) fn render(
    profile: &Profile,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[Waiting],
) -> Vec<Block> {
    if parts.is_empty() && waiting.is_empty() {
        return Vec::new();
    }
    let text = match profile.render.form {
        Rendering::AgentsContext => {
            let room: usize = parts.iter().map(|part| part.text.len() + 512).sum();
            let mut text = String::with_capacity(room);
            text.push_str("<agents_context scope=\"initial\">\n");
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    text.push_str("\n\n");
                }
                write_block(&mut text, part);
            }
            text.push_str("\n</agents_context>");
            text
        }
        Rendering::Instructions => instructions(place.cwd, parts),
        Rendering::Forms(forms) => {
            return forms.iter().filter_map(|form| formed(form, place, parts, waiting)).collect();
        }
    };
    vec![Block { role: profile.render.role, text }]
}

/// One file under the line that names it.
pub(crate) fn block(part: &Part<'_>) -> String {
    let mut text = String::new();
    write_block(&mut text, part);
    text
}

/// The line that names a file above its text.
pub(crate) fn heading(path: &Path) -> String {
    format!("Instructions from: {}\n", shown(path))
}

fn write_block(text: &mut String, part: &Part<'_>) {
    text.push_str(&heading(part.path));
    text.push_str(part.text.trim_end());
    if let Some(mark) = &part.mark {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(mark);
    }
}

fn instructions(cwd: &Path, parts: &[Part<'_>]) -> String {
    let texts = |home: bool| -> Vec<&str> {
        parts.iter().filter(|part| part.home == home).map(|part| part.text).collect()
    };
    let (home, project) = (texts(true).join("\n\n"), texts(false));
    let place = if project.is_empty() { String::new() } else { format!(" for {}", cwd.display()) };
    let separator = if home.is_empty() || project.is_empty() { "" } else { "\n\n--- project-doc ---\n\n" };
    let body = format!("{home}{separator}{}", project.join("\n\n"));
    format!("# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>")
}

/// A block as a form describes it; none where it has no file.
fn formed(
    form: &BlockForm,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[Waiting],
) -> Option<Block> {
    let sections = form.sections.iter().filter_map(|section| section_text(section, place, parts, waiting));
    let sections: Vec<String> = sections.collect();
    if sections.is_empty() {
        return None;
    }
    let text = format!("{}{}{}", form.start, sections.join(form.between), form.end);
    Some(Block { role: form.role, text })
}

fn section_text(
    section: &SectionForm,
    place: AgentLocation<'_>,
    parts: &[Part<'_>],
    waiting: &[Waiting],
) -> Option<String> {
    let is_in = |part: &&Part<'_>| match section.of {
        PartOf::Everything => true,
        PartOf::Home => part.home,
        PartOf::Project => !part.home,
        PartOf::Files => !part.is_rule,
        PartOf::Rules => part.is_rule,
    };
    let mut text = String::new();
    let mut count = 0;
    for part in parts.iter().filter(is_in) {
        if count > 0 {
            text.push_str(section.between);
        }
        count += 1;
        let path = match section.path {
            PathForm::Absolute => part.path.to_string_lossy().into_owned(),
            PathForm::FromCwd => path::relative(place.cwd, part.path).to_string_lossy().into_owned(),
            PathForm::FromRoot => path::relative(place.root, part.path).to_string_lossy().into_owned(),
        };
        let kind = match (part.home, part.is_private) {
            (true, _) => section.kinds.home,
            (false, true) => section.kinds.private,
            (false, false) => section.kinds.project,
        };
        let words = Words { path: &path, kind, ..Words::default() };
        write_pieces(&mut text, section.before, &words);
        text.push_str(part.text);
        write_pieces(&mut text, section.after, &words);
    }
    if let Some(form) = section.waiting.filter(|_| !waiting.is_empty()) {
        if count > 0 {
            text.push_str(section.between);
        }
        text.push_str(form.start);
        for (index, rule) in waiting.iter().enumerate() {
            if index > 0 {
                text.push_str(form.between);
            }
            let (path, globs, description) = (&rule.path, &rule.globs, &rule.description);
            write_pieces(&mut text, form.row, &Words { path, globs, description, ..Words::default() });
        }
        count += 1;
    }
    if count == 0 {
        return None;
    }
    text.push_str(section.end);
    Some(text)
}

/// What pieces of text stand for.
#[derive(Default)]
pub(crate) struct Words<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) reference: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) globs: &'a str,
    pub(crate) description: &'a str,
}

pub(crate) fn write_pieces(text: &mut String, pieces: &[Piece], words: &Words<'_>) {
    for piece in pieces {
        text.push_str(match piece {
            Piece::Text(text) => text,
            Piece::Path => words.path,
            Piece::AttributePath => {
                let attribute = words.path.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                text.push_str(&attribute.replace('"', "&quot;"));
                continue;
            }
            Piece::Kind => words.kind,
            Piece::Reference => words.reference,
            Piece::Reason => words.reason,
            Piece::Globs => words.globs,
            Piece::Description => words.description,
        });
    }
}

/// The line that tells what a cut left out: headings, and how much was not even looked at.
pub(crate) fn mark(path: &Path, kept: usize, size: u64, omitted: &[String], unread: u64) -> String {
    let mut headings: Vec<String> =
        omitted.iter().take(MAX_HEADINGS).map(|heading| neutralise(heading).into_owned()).collect();
    if omitted.len() > MAX_HEADINGS {
        headings.push(format!("and {} more", omitted.len() - MAX_HEADINGS));
    }
    if headings.is_empty() {
        headings.push(if unread == 0 { "none" } else { "none in what was read" }.to_owned());
    }
    if unread > 0 {
        headings.push(format!("the last {unread} bytes were not looked at"));
    }
    format!(
        "[foreword: {kept} of {size} bytes shown; omitted headings: {}. Read {} for the rest.]",
        headings.join("; "),
        shown(path)
    )
}

/// A path in a text: one line, and no tag of ours, whatever somebody called a directory.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_ascii() && !text.contains(|character: char| character == '<' || character.is_control()) {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    make_harmless(&plain).0.into_owned()
}

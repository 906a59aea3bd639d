//! The prompt section about skills.

use instructions::make_harmless;
use protocol::SkillReason;

use crate::activation::Activation;
use crate::limits::{MAX_ACTIVE_FOR_BODIES, MAX_TEXT_CHARS};
use crate::skill::Skill;

const INTRODUCTION: &str = "Skills are instructions for particular tasks. If your task matches a description, call read_skill with the exact slug and follow its text before you start, unless the text is below.";
/// Characters reserved for the line about missing skills.
const REST: usize = 80;

/// Text of the section `skills_runtime`, and its extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeText {
    /// Text of the section.
    pub text: String,
    /// Slugs of the skills with their full text in it.
    pub with_body: Vec<String>,
    /// Number of active skills that are not listed.
    pub unlisted: usize,
}

impl Activation {
    /// Returns the section for a turn. `None` if no skill is active. The full text is included only for skills that match a path, if
    /// few are active and it fits; a skill that the turn names is left for the model to read.
    pub fn runtime_text(&self) -> Option<RuntimeText> {
        let active = self.active();
        if active.is_empty() {
            return None;
        }
        let mut text = INTRODUCTION.to_owned();
        let mut length = text.chars().count();
        let mut listed = 0;
        for (skill, _) in &active {
            let line = format!("\n- {}: {} (read_skill \"{}\")", skill.slug, skill.description, skill.slug);
            let added = line.chars().count();
            // All lines but the last leave space for the note about unlisted skills. The last one needs no note after
            // it, so a list that just fits is not cut.
            let kept_free = if listed + 1 == active.len() { 0 } else { REST };
            if length + added + kept_free > MAX_TEXT_CHARS {
                break;
            }
            text.push_str(&line);
            length += added;
            listed += 1;
        }
        let unlisted = active.len() - listed;
        if unlisted > 0 {
            text.push_str(&format!("\n({unlisted} more are not listed, because there is no room for them.)"));
        }
        let mut with_body = Vec::new();
        if active.len() <= MAX_ACTIVE_FOR_BODIES && unlisted == 0 {
            let matched = active.iter().filter(|(_, reason)| *reason == SkillReason::PathMatched);
            for (skill, _) in matched {
                let room = MAX_TEXT_CHARS.saturating_sub(text.chars().count());
                match with_text(skill).filter(|part| part.chars().count() <= room) {
                    Some(part) => {
                        text.push_str(&part);
                        with_body.push(skill.slug.clone());
                    }
                    None => {
                        let hint = format!("\n\nThe skill \"{}\" applies here: read it first.", skill.slug);
                        if hint.chars().count() <= room {
                            text.push_str(&hint);
                        }
                    }
                }
            }
        }
        Some(RuntimeText { text, with_body, unlisted })
    }
}

/// Returns a skill's text with every line quoted, so that none can imitate ours.
fn with_text(skill: &Skill) -> Option<String> {
    let body = skill.body().ok()?;
    let body = make_harmless(body.trim()).0.into_owned();
    let quoted: String = body.lines().map(|line| format!("\n> {line}").trim_end().to_owned()).collect();
    (!body.is_empty()).then(|| format!("\n\nThe skill \"{}\" applies here and says:{quoted}", skill.slug))
}

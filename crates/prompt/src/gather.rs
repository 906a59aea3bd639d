//! From an input to the sections that will stand in the prompt: who fills each, how much of it fits.

use std::borrow::Cow;
use std::cmp::Reverse;

use instructions::make_harmless;

use crate::bootstrap::BootstrapFile;
use crate::cut::{Cut, Rest, cut};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::fingerprint::sha256;
use crate::input::{AgentsGuidance, ContributedSection, PromptCompileInput};
use crate::manifest::{HookSource, Source, Truncation};
use crate::profile::PromptProfile;
use crate::section::{AGENTS_MD, FIRST_AFTER_UNKNOWN, FilledBy, SECTIONS, SectionKind};
use crate::stability::Stability;
use crate::texts;

/// A section as it will be rendered.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: Cow<'a, str>,
    pub(crate) stability: Stability,
    pub(crate) content: Cow<'a, str>,
    pub(crate) sources: Vec<Source>,
    pub(crate) truncated: bool,
    /// What it may ask of the common budget, and who asks.
    asks: Option<Asks<'a>>,
    kind: Option<&'static SectionKind>,
}

/// A section that hooks or callers fill.
#[derive(Debug, Clone, Copy)]
struct Asks<'a> {
    /// None for a caller, who gives way last.
    hook: Option<&'a ContributedSection>,
    most: usize,
}

/// What was gathered.
#[derive(Debug, Default)]
pub(crate) struct Gathered<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) hook_sources: Vec<HookSource>,
}

/// Gathers everything in the order of the text.
pub(crate) fn gather(input: &PromptCompileInput) -> Gathered<'_> {
    let mut gathered = Gathered::default();
    gathered.diagnostics.extend(input.bootstrap.diagnostics.iter().cloned());
    gathered.diagnostics.extend(input.diagnostics.iter().cloned());
    let contributed = gathered.accept(input);
    for kind in SECTIONS {
        if kind.id == FIRST_AFTER_UNKNOWN {
            let unknown =
                contributed.iter().filter(|section| SectionKind::find(&section.section_id).is_none());
            unknown.for_each(|section| gathered.add_contributed(input, None, section));
        }
        let by_hook = contributed.iter().find(|section| section.section_id == kind.id);
        gathered.add(input, kind, by_hook.copied());
    }
    gathered.without_zero_bytes();
    gathered.share_bootstrap(input);
    gathered.share_common(input);
    // What is empty renders nothing.
    gathered.pieces.retain(|piece| !piece.content.trim().is_empty());
    gathered
}

/// A text of ours, if the input wants it.
fn built_in(input: &PromptCompileInput, id: &str) -> Option<Cow<'static, str>> {
    let text = match id {
        "identity" => texts::IDENTITY,
        "safety" => texts::SAFETY,
        "tool_recovery_policy" if input.include_tool_recovery_policy => texts::TOOL_RECOVERY,
        "agents_guidance" => match input.agents_guidance {
            AgentsGuidance::Nothing => return None,
            AgentsGuidance::Rules => texts::AGENTS_GUIDANCE,
            AgentsGuidance::RulesAndNestedScopes => {
                return Some(Cow::Owned(format!("{}\n{}", texts::AGENTS_GUIDANCE, texts::NESTED_SCOPES)));
            }
        },
        "task_orchestration" if input.include_task_orchestration_policy => texts::TASK_ORCHESTRATION,
        "recovery_continuation" if input.continue_generation_hint => texts::RECOVERY_CONTINUATION,
        _ => return None,
    };
    Some(Cow::Borrowed(text))
}

/// A text of whoever asks for the prompt.
fn from_caller<'a>(input: &'a PromptCompileInput, id: &str) -> Option<&'a str> {
    match id {
        "hidden_tool_domains" => input.hidden_tool_domains.as_deref(),
        "skills_runtime" => input.skills_prompt.as_deref(),
        "retry_instruction" => input.retry_instruction.as_deref(),
        "dynamic_context" => input.dynamic_context.as_deref(),
        "extra_system" => input.extra_system.as_deref(),
        _ => None,
    }
}

/// Whether the profile has it; hooks' own sections are only in the whole prompt.
fn has(profile: PromptProfile, kind: Option<&SectionKind>) -> bool {
    profile != PromptProfile::None && profile >= kind.map_or(PromptProfile::Full, |kind| kind.profile)
}

impl<'a> Gathered<'a> {
    /// The contributions that have a place: the first of each section, and none where hooks have no say.
    fn accept(&mut self, input: &'a PromptCompileInput) -> Vec<&'a ContributedSection> {
        let mut accepted: Vec<&ContributedSection> = Vec::new();
        for section in &input.contributed {
            let kind = SectionKind::find(&section.section_id);
            let refused = if kind.is_some_and(|kind| !kind.is_open_to_hooks()) {
                Some("hooks cannot fill this section")
            } else if from_caller(input, &section.section_id).is_some() {
                Some("whoever asked for the prompt fills this section")
            } else if accepted.iter().any(|earlier| earlier.section_id == section.section_id) {
                Some("another hook fills this section already")
            } else if !has(input.profile, kind) {
                Some("the prompt's profile does not have this section")
            } else {
                None
            };
            match refused {
                None => accepted.push(section),
                Some(reason) => {
                    self.omit(&section.section_id, &format!("{reason}; hook {}", section.hook_id))
                }
            }
        }
        // Sections with names of their own stand by priority, then by name.
        accepted.sort_by(|one, other| {
            other.priority.cmp(&one.priority).then_with(|| one.section_id.cmp(&other.section_id))
        });
        accepted
    }

    fn omit(&mut self, id: &str, reason: &str) {
        let message = format!("the section is left out: {reason}");
        self.diagnostics.push(Diagnostic::new(DiagnosticCode::SectionOmitted, message).in_section(id));
    }

    fn add(
        &mut self,
        input: &'a PromptCompileInput,
        kind: &'static SectionKind,
        by_hook: Option<&'a ContributedSection>,
    ) {
        if !has(input.profile, Some(kind)) {
            return;
        }
        match kind.filled_by {
            FilledBy::BuiltIn => {
                let Some(text) = built_in(input, kind.id) else { return };
                let source = Source {
                    id: Some(kind.id.to_owned()),
                    version: Some(texts::TEXTS_VERSION),
                    ..Source::new("built_in", sha256(&text))
                };
                self.push(input, kind, text, vec![source], None);
            }
            FilledBy::Bootstrap => {
                let file = input.bootstrap.files.iter().find(|file| file.kind.section_id == kind.id);
                let Some(file) = file else { return };
                let source = Source::file(file.path.to_string_lossy(), &*file.sha256);
                let text = self.harmless(kind.id, &file.text);
                self.push(input, kind, text, vec![source], None);
            }
            FilledBy::Session => {
                let Some(context) = &input.agents_context else { return };
                self.push(input, kind, Cow::Borrowed(&context.text), context.sources.clone(), None);
                if let Some(piece) = self.pieces.last_mut().filter(|piece| piece.id == kind.id) {
                    piece.truncated = context.truncated;
                }
            }
            FilledBy::Hook(_) | FilledBy::Caller => match (from_caller(input, kind.id), by_hook) {
                (Some(text), _) => {
                    let source = Source::new("caller", sha256(text));
                    let text = self.harmless(kind.id, text);
                    let asks = Asks { hook: None, most: input.limits.section };
                    self.push(input, kind, text, vec![source], Some(asks));
                }
                (None, Some(section)) => self.add_contributed(input, Some(kind), section),
                (None, None) => {}
            },
        }
    }

    fn push(
        &mut self,
        input: &PromptCompileInput,
        kind: &'static SectionKind,
        content: Cow<'a, str>,
        sources: Vec<Source>,
        asks: Option<Asks<'a>>,
    ) {
        if input.disabled_sections.contains(kind.id) {
            return self.omit(kind.id, "it is switched off (prompt.disabled_sections)");
        }
        self.pieces.push(Piece {
            id: kind.id,
            title: Cow::Borrowed(kind.title),
            stability: kind.stability,
            content,
            sources,
            truncated: false,
            asks,
            kind: Some(kind),
        });
    }

    fn add_contributed(
        &mut self,
        input: &'a PromptCompileInput,
        kind: Option<&'static SectionKind>,
        section: &'a ContributedSection,
    ) {
        if input.disabled_sections.contains(&section.section_id) {
            return self.omit(&section.section_id, "it is switched off (prompt.disabled_sections)");
        }
        let budget =
            if section.section_id == AGENTS_MD { input.limits.agents_md } else { input.limits.section };
        let most = section.max_chars.map_or(budget, |wanted| wanted.min(budget));
        let content = self.harmless(&section.section_id, section.content.trim_end());
        self.pieces.push(Piece {
            id: &section.section_id,
            title: kind.map_or_else(|| heading(&section.title), |kind| Cow::Borrowed(kind.title)),
            stability: kind.map_or(Stability::Turn, |kind| kind.stability),
            content,
            sources: section.sources.clone(),
            truncated: section.already_cut,
            asks: Some(Asks { hook: Some(section), most }),
            kind,
        });
    }

    /// Text from files and users is data: it cannot close our wrappers, and nothing in it hides.
    fn harmless(&mut self, id: &str, text: &'a str) -> Cow<'a, str> {
        let (harmless, changes) = make_harmless(text);
        if changes > 0 {
            let message = format!("tags of ours or hidden characters in it were made visible ({changes})");
            self.diagnostics.push(Diagnostic::new(DiagnosticCode::UnsafeText, message).in_section(id));
        }
        harmless
    }

    /// Not every database can keep a zero byte, and a prompt that cannot be kept cannot be proven.
    fn without_zero_bytes(&mut self) {
        for piece in self.pieces.iter_mut().filter(|piece| piece.content.contains('\0')) {
            piece.content = Cow::Owned(piece.content.replace('\0', "\u{fffd}"));
            let message = "zero bytes in it are shown as U+FFFD";
            let diagnostic = Diagnostic::new(DiagnosticCode::UnsafeText, message).in_section(piece.id);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Cuts bootstrap files to what each and all of them may have, and adds what the model is told about them.
    fn share_bootstrap(&mut self, input: &'a PromptCompileInput) {
        let limits = &input.limits;
        let mut left = limits.bootstrap_total;
        let Self { pieces, diagnostics, .. } = self;
        for file in &input.bootstrap.files {
            let Some(piece) = pieces.iter_mut().find(|piece| piece.id == file.kind.section_id) else {
                continue;
            };
            if piece.content.trim().is_empty() {
                continue;
            }
            let most = limits.bootstrap_file.min(left);
            let total = characters(&piece.content);
            let mut kept = total;
            if total > most || file.longer {
                let (code, which) = match limits.bootstrap_file <= left {
                    true => (DiagnosticCode::FileTruncated, "prompt.bootstrap_file_chars"),
                    false => (DiagnosticCode::TotalBudgetTruncated, "prompt.bootstrap_total_chars"),
                };
                piece.truncated = true;
                let rest = if file.longer { Rest::Unread } else { Rest::None };
                piece.content = cut_to(std::mem::take(&mut piece.content), most, rest);
                kept = characters(&piece.content);
                diagnostics.push(about_file(file, code, most, which));
            }
            left = left.saturating_sub(kept);
            if file.kind.evolves() && !piece.content.is_empty() {
                let reminder = texts::EVOLVES.replace("{path}", &file.path.to_string_lossy());
                piece.content = Cow::Owned(format!("{}\n\n{reminder}", piece.content.trim_end()));
            }
        }
    }

    /// Cuts what hooks and callers brought to what each may have, then to what all may have together: what changes
    /// more often gives way, then what has lower priority.
    fn share_common(&mut self, input: &'a PromptCompileInput) {
        let Self { pieces, diagnostics, hook_sources } = self;
        let mut order: Vec<usize> = (0..pieces.len()).filter(|index| pieces[*index].asks.is_some()).collect();
        let priority =
            |piece: &Piece<'_>| piece.asks.and_then(|asks| asks.hook).map_or(i32::MAX, |hook| hook.priority);
        // What stands earlier is served first: a section of the turn must not change what stands before it.
        order.sort_by_key(|index| (pieces[*index].stability, Reverse(priority(&pieces[*index]))));
        let mut left = input.limits.sections_total;
        for index in order {
            let piece = &mut pieces[index];
            let Some(asks) = piece.asks else { continue };
            let total = characters(&piece.content);
            let most = asks.most.min(left);
            let mut kept = total;
            let mut truncation = if piece.truncated { Truncation::Hook } else { Truncation::None };
            if total > most {
                let code = match asks.most <= left {
                    true => DiagnosticCode::SectionTruncated,
                    false => DiagnosticCode::TotalBudgetTruncated,
                };
                let content = cut_to(std::mem::take(&mut piece.content), most, Rest::None);
                let (code, message) = match content.is_empty() {
                    true => (
                        DiagnosticCode::SectionOmitted,
                        format!(
                            "the section is left out: nothing of its {total} characters fits into {most}"
                        ),
                    ),
                    false => (code, format!("the section has {total} characters, of which {most} may stay")),
                };
                diagnostics.push(Diagnostic::new(code, message).in_section(piece.id));
                kept = characters(&content);
                piece.content = content;
                piece.truncated = true;
                truncation = Truncation::Prompt;
            }
            left -= kept.min(left);
            if let Some(hook) = asks.hook {
                hook_sources.push(hook_source(hook, truncation));
            }
            if let Some(wrapper) = piece.kind.and_then(SectionKind::wrapper)
                && !piece.content.trim().is_empty()
            {
                piece.content = Cow::Owned([wrapper.before, &piece.content, wrapper.after].concat());
            }
        }
        hook_sources.sort_by_key(|source| pieces.iter().position(|piece| piece.id == source.section_id));
    }
}

fn about_file(file: &BootstrapFile, code: DiagnosticCode, most: usize, setting: &str) -> Diagnostic {
    let message = format!(
        "the file is longer than the {most} characters that may stay; shorten it, or raise {setting}"
    );
    let path = file.path.to_string_lossy().into_owned();
    Diagnostic::new(code, message).in_section(file.kind.section_id).in_file(path)
}

fn hook_source(hook: &ContributedSection, truncation: Truncation) -> HookSource {
    HookSource {
        hook_id: hook.hook_id.clone(),
        subscription_id: hook.subscription_id.clone(),
        contribution_id: hook.contribution_id.clone(),
        section_id: hook.section_id.clone(),
        contribution_kind: hook.contribution_kind.clone(),
        priority: hook.priority,
        source_count: hook.sources.len(),
        truncation,
    }
}

fn cut_to(content: Cow<'_, str>, most: usize, rest: Rest) -> Cow<'_, str> {
    match content {
        Cow::Borrowed(text) => cut(text, most, rest).text().unwrap_or_default(),
        Cow::Owned(text) => match cut(&text, most, rest) {
            Cut::Whole(_) => Cow::Owned(text),
            Cut::Part(part) => Cow::Owned(part),
            Cut::Nothing => Cow::Borrowed(""),
        },
    }
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

/// A heading of somebody else: one line, and harmless.
fn heading(title: &str) -> Cow<'_, str> {
    let (harmless, _) = make_harmless(title);
    let words: Vec<&str> = harmless.split_whitespace().collect();
    let line = words.join(" ");
    Cow::Owned(if line.is_empty() { "Untitled".to_owned() } else { line })
}

//! Turns an input into the sections of the prompt: chooses the source of each and applies the budgets.

use std::borrow::Cow;
use std::cmp::Reverse;

use instructions::make_harmless;
use protocol::ContentHash;
use protocol::hook::ContributionKind;
use protocol::prompt::{
    PromptDiagnostic, PromptDiagnosticCode, PromptHookSource, PromptLeftOut, PromptProfile, PromptRole,
    PromptSource, PromptSourceKind, PromptTruncation, Stability,
};

use crate::cut::{Cut, Rest, cut};
use crate::input::{ContributedSection, FileTools, PromptCompileInput};
use crate::section::{
    AGENTS_MD, DYNAMIC_CONTEXT, FIRST_AFTER_UNKNOWN, FilledBy, SECTIONS, SectionKind, TASK_ORCHESTRATION,
    Wrapper,
};
use crate::texts::{self, HiddenTools};

/// A section before it is rendered.
#[derive(Debug)]
pub(crate) struct DraftSection<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: Cow<'a, str>,
    pub(crate) stability: Stability,
    pub(crate) content: Cow<'a, str>,
    pub(crate) sources: Vec<PromptSource>,
    pub(crate) truncated: bool,
    pub(crate) role: PromptRole,
    /// Request to the common budget. `None` for a section with a budget of its own or without one.
    request: Option<BudgetRequest<'a>>,
    kind: Option<&'static SectionKind>,
}

/// The share of the common budget that a hook or the caller requests.
#[derive(Debug, Clone, Copy)]
struct BudgetRequest<'a> {
    /// `None` for the caller, whose text is cut last.
    contributed: Option<&'a ContributedSection>,
    limit: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Collected<'a> {
    pub(crate) drafts: Vec<DraftSection<'a>>,
    pub(crate) diagnostics: Vec<PromptDiagnostic>,
    pub(crate) hook_sources: Vec<PromptHookSource>,
    pub(crate) left_out: Vec<PromptLeftOut>,
}

/// Collects all sections, in the order of the text.
pub(crate) fn collect_sections(input: &PromptCompileInput) -> Collected<'_> {
    let mut collected = Collected::default();
    collected.diagnostics.extend(input.bootstrap.diagnostics.iter().cloned());
    collected.diagnostics.extend(input.diagnostics.iter().cloned());
    // Accepted before any section is added: a contribution to a known section takes the place of that section in the table.
    let contributed = collected.accept(input);
    for kind in SECTIONS {
        if kind.id == FIRST_AFTER_UNKNOWN {
            let unknown = contributed.iter().filter(|it| SectionKind::find(&it.section.section_id).is_none());
            unknown.for_each(|it| collected.add_contributed(input, None, it));
        }
        let by_hook = contributed.iter().find(|it| it.section.section_id == kind.id);
        collected.add(input, kind, by_hook.copied());
    }
    collected.without_zero_bytes();
    // Bootstrap files have a budget of their own, so a long hook section cannot displace the identity of the model.
    collected.share_bootstrap(input);
    collected.share_common(input);
    // Dropped only now, because cutting and sanitising can leave a section empty.
    collected.drafts.retain(|draft| !draft.content.trim().is_empty());
    collected
}

/// Returns a built-in text if the input wants it.
fn built_in(input: &PromptCompileInput, id: &str) -> Option<String> {
    let file_tools = input.environment.as_ref().map_or(FileTools::Absent, |it| it.file_tools);
    match id {
        "identity" => Some(texts::identity(input.audience, file_tools)),
        "safety" => Some(texts::safety(input.audience)),
        "tool_recovery_policy" if input.include_tool_recovery_policy => {
            Some(texts::tool_recovery(input.audience))
        }
        TASK_ORCHESTRATION => input.task_orchestration.map(texts::task_orchestration),
        "agents_guidance" => texts::agents_guidance(input.agents_guidance, file_tools),
        "environment" => input.environment.as_ref().map(|it| texts::environment(it, input.audience)),
        _ => None,
    }
}

/// Returns the text that the caller supplied for a section.
fn from_caller<'a>(input: &'a PromptCompileInput, id: &str) -> Option<&'a str> {
    match id {
        "extra_system" => input.extra_system.as_deref(),
        DYNAMIC_CONTEXT => input.dynamic_context.as_deref().map(str::trim_end),
        _ => None,
    }
}

/// Returns true if the profile includes the section. Sections that only hooks know are part of the full profile alone.
fn has(profile: PromptProfile, kind: Option<&SectionKind>) -> bool {
    profile != PromptProfile::None && profile >= kind.map_or(PromptProfile::Full, |kind| kind.profile)
}

impl<'a> Collected<'a> {
    /// Returns the contributions to use: the first for each section, and none to sections that are closed to hooks.
    fn accept(&mut self, input: &'a PromptCompileInput) -> Vec<&'a ContributedSection> {
        let mut accepted: Vec<&ContributedSection> = Vec::new();
        for contributed in &input.contributed {
            let id = &contributed.section.section_id;
            let kind = SectionKind::find(id);
            let refused = if kind.is_some_and(|kind| !kind.is_open_to_hooks()) {
                // The order of these checks decides the reason that users read: a section that is closed to hooks stays
                // closed whatever the profile is.
                Some("hooks cannot fill this section")
            } else if from_caller(input, id).is_some() {
                Some("the caller fills this section")
            } else if accepted.iter().any(|earlier| earlier.section.section_id == *id) {
                Some("another hook fills this section already")
            } else if !has(input.profile, kind) {
                Some("the prompt's profile does not have this section")
            } else {
                None
            };
            match refused {
                None => accepted.push(contributed),
                Some(reason) => self.omit(id, &format!("{reason}; hook {}", contributed.hook_id)),
            }
        }
        // Unknown sections are ordered by priority and then by name, so that the order of the hooks, which may run
        // concurrently, never changes the text.
        accepted.sort_by(|one, other| {
            let one = &one.section;
            let other = &other.section;
            other.priority.cmp(&one.priority).then_with(|| one.section_id.cmp(&other.section_id))
        });
        accepted
    }

    fn omit(&mut self, id: &str, reason: &str) {
        let message = format!("the section is left out: {reason}");
        self.diagnostics
            .push(PromptDiagnostic::new(PromptDiagnosticCode::SectionOmitted, message).in_section(id));
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
                let source = PromptSource {
                    id: Some(kind.id.to_owned()),
                    version: Some(texts::TEXTS_VERSION),
                    ..PromptSource::new(PromptSourceKind::BuiltIn, ContentHash::of(&text))
                };
                self.push(input, kind, Cow::Owned(text), vec![source], None);
            }
            FilledBy::Bootstrap => {
                let file = input.bootstrap.files.iter().find(|file| file.kind.section_id == kind.id);
                let Some(file) = file else { return };
                let source = PromptSource::file(file.path.to_string_lossy(), file.sha256.clone());
                // Trailing blank lines would separate this section from the next by more than one blank line.
                let text = self.harmless(kind.id, file.text.trim_end());
                self.push(input, kind, text, vec![source], None);
            }
            FilledBy::Session => {
                let Some(context) = &input.agents_context else { return };
                self.push(input, kind, Cow::Borrowed(&context.text), context.sources.clone(), None);
                if let Some(draft) = self.drafts.last_mut().filter(|draft| draft.id == kind.id) {
                    draft.truncated = context.truncated;
                    draft.role = context.role;
                }
            }
            FilledBy::HiddenTools => {
                let limit = input.limits.section;
                let Some(HiddenTools { text, cuts }) = texts::hidden_tools(&input.hidden_domains, limit)
                else {
                    return;
                };
                let cut = |words| {
                    PromptDiagnostic::new(PromptDiagnosticCode::SectionTruncated, words).in_section(kind.id)
                };
                self.diagnostics.extend(cuts.into_iter().map(cut));
                let sources = input.hidden_domains.iter().map(|domain| PromptSource {
                    id: Some(domain.name.clone()),
                    ..PromptSource::new(
                        PromptSourceKind::Other("tool_domain".to_owned()),
                        ContentHash::of(texts::described(domain)),
                    )
                });
                let sources = sources.collect();
                let request = BudgetRequest { contributed: None, limit };
                self.push(input, kind, Cow::Owned(text), sources, Some(request));
            }
            FilledBy::Hook(_) | FilledBy::Caller => match (from_caller(input, kind.id), by_hook) {
                (Some(text), _) => {
                    let source = PromptSource::new(PromptSourceKind::Caller, ContentHash::of(text));
                    let text = self.harmless(kind.id, text);
                    let request = BudgetRequest { contributed: None, limit: input.limits.section };
                    self.push(input, kind, text, vec![source], Some(request));
                }
                (None, Some(contributed)) => self.add_contributed(input, Some(kind), contributed),
                (None, None) => {}
            },
            FilledBy::Note => {}
        }
    }

    fn push(
        &mut self,
        input: &PromptCompileInput,
        kind: &'static SectionKind,
        content: Cow<'a, str>,
        sources: Vec<PromptSource>,
        request: Option<BudgetRequest<'a>>,
    ) {
        if input.disabled_sections.contains(kind.id) {
            // The diagnostic keeps a section that is switched off visible in every manifest, where its absence would be
            // easy to miss.
            return self.omit(kind.id, "it is switched off (prompt.disabled_sections)");
        }
        self.drafts.push(DraftSection {
            id: kind.id,
            title: Cow::Borrowed(kind.title),
            stability: kind.stability,
            content,
            sources,
            truncated: false,
            role: PromptRole::System,
            request,
            kind: Some(kind),
        });
    }

    fn add_contributed(
        &mut self,
        input: &'a PromptCompileInput,
        kind: Option<&'static SectionKind>,
        contributed: &'a ContributedSection,
    ) {
        let section = &contributed.section;
        if input.disabled_sections.contains(&section.section_id) {
            return self.omit(&section.section_id, "it is switched off (prompt.disabled_sections)");
        }
        let budget =
            if section.section_id == AGENTS_MD { input.limits.agents_md } else { input.limits.section };
        // A hook may lower its limit but never raise it above the setting.
        let limit = section.max_chars.map_or(budget, |wanted| wanted.min(budget));
        self.left_out.extend(section.left_out.iter().cloned());
        self.diagnostics.extend(section.diagnostics.iter().cloned());
        let was_cut = |found: &PromptDiagnostic| found.code == PromptDiagnosticCode::SectionTruncated;
        let is_cut =
            contributed.truncation != PromptTruncation::None || section.diagnostics.iter().any(was_cut);
        let content = self.harmless(&section.section_id, section.content.trim_end());
        self.drafts.push(DraftSection {
            id: &section.section_id,
            title: kind.map_or_else(|| heading(&section.title), |kind| Cow::Borrowed(kind.title)),
            stability: kind.map_or(Stability::Turn, |kind| kind.stability),
            content,
            sources: section.sources.clone(),
            truncated: is_cut,
            role: PromptRole::System,
            request: Some(BudgetRequest { contributed: Some(contributed), limit }),
            kind,
        });
    }

    /// Escapes text from files and users: it is data, cannot close our wrappers, and cannot contain hidden characters.
    fn harmless(&mut self, id: &str, text: &'a str) -> Cow<'a, str> {
        let (harmless, changes) = make_harmless(text);
        if changes > 0 {
            let message = format!("tags of ours or hidden characters in it were made visible ({changes})");
            self.diagnostics
                .push(PromptDiagnostic::new(PromptDiagnosticCode::UnsafeText, message).in_section(id));
        }
        harmless
    }

    /// Replaces zero bytes. Not every database can store them, and a prompt that cannot be stored cannot be rebuilt.
    fn without_zero_bytes(&mut self) {
        for draft in self.drafts.iter_mut().filter(|draft| draft.content.contains('\0')) {
            draft.content = Cow::Owned(draft.content.replace('\0', "\u{fffd}"));
            let message = "zero bytes in it are shown as U+FFFD";
            let diagnostic =
                PromptDiagnostic::new(PromptDiagnosticCode::UnsafeText, message).in_section(draft.id);
            self.diagnostics.push(diagnostic);
        }
    }

    /// Cuts bootstrap files to their own and their common budget, and appends the note that the model may edit them.
    fn share_bootstrap(&mut self, input: &'a PromptCompileInput) {
        let limits = &input.limits;
        let mut left = limits.bootstrap_total;
        // The first note is the long one; later ones refer to it.
        let mut evolving = false;
        let Self { drafts, diagnostics, .. } = self;
        for file in &input.bootstrap.files {
            let Some(draft) = drafts.iter_mut().find(|draft| draft.id == file.kind.section_id) else {
                continue;
            };
            if draft.content.trim().is_empty() {
                continue;
            }
            // Files take from the common budget in the order of their table, so the model's character is the last to be
            // cut and the description of the user the first.
            let limit = limits.bootstrap_file.min(left);
            let mut kept = characters(&draft.content);
            if kept > limit || file.longer {
                let (code, setting) = if limits.bootstrap_file <= left {
                    (PromptDiagnosticCode::FileTruncated, "prompt.bootstrap_file_chars")
                } else {
                    (PromptDiagnosticCode::TotalBudgetTruncated, "prompt.bootstrap_total_chars")
                };
                draft.truncated = true;
                let rest = if file.longer { Rest::Unread } else { Rest::None };
                draft.content = cut_to(std::mem::take(&mut draft.content), limit, rest);
                kept = characters(&draft.content);
                let message = format!(
                    "the file is longer than the {limit} characters that may stay; shorten it, or raise {setting}"
                );
                let diagnostic = PromptDiagnostic::new(code, message).in_section(file.kind.section_id);
                diagnostics.push(diagnostic.in_file(file.path.to_string_lossy()));
            }
            // The note below is not counted: it is ours, and a file that fits its budget must not be cut because of it.
            left = left.saturating_sub(kept);
            if input.can_evolve && file.kind.evolves() && !draft.content.trim().is_empty() {
                let text = if evolving { texts::EVOLVES_TOO } else { texts::EVOLVES };
                evolving = true;
                let reminder = text.replace("{path}", &file.path.to_string_lossy());
                draft.content = Cow::Owned(format!("{}\n\n{reminder}", draft.content.trim_end()));
            }
        }
    }

    /// Cuts the sections of hooks and the caller to their own budgets, then to the common one. Sections that change more
    /// often give way first, then those of lower priority.
    fn share_common(&mut self, input: &'a PromptCompileInput) {
        let Self { drafts, diagnostics, hook_sources, .. } = self;
        let mut order: Vec<usize> =
            (0..drafts.len()).filter(|index| drafts[*index].request.is_some()).collect();
        let priority = |draft: &DraftSection<'_>| {
            let contributed = draft.request.and_then(|request| request.contributed);
            contributed.map_or(i32::MAX, |contributed| contributed.section.priority)
        };
        // Earlier parts of the text are served first. Otherwise a longer section of the turn would shrink a section of the
        // session, and the provider's cached prefix would be lost every turn.
        order.sort_by_key(|index| (drafts[*index].stability, Reverse(priority(&drafts[*index]))));
        let mut left = input.limits.sections_total;
        for index in order {
            let draft = &mut drafts[index];
            let Some(request) = draft.request else { continue };
            let total = characters(&draft.content);
            let limit = request.limit.min(left);
            let mut kept = total;
            let mut truncation =
                if draft.truncated { PromptTruncation::Hook } else { PromptTruncation::None };
            if total > limit {
                let content = cut_to(std::mem::take(&mut draft.content), limit, Rest::None);
                let (code, message) = if content.is_empty() {
                    let message = format!(
                        "the section is left out: nothing of its {total} characters fits into {limit}"
                    );
                    (PromptDiagnosticCode::SectionOmitted, message)
                } else {
                    let code = if request.limit <= left {
                        PromptDiagnosticCode::SectionTruncated
                    } else {
                        PromptDiagnosticCode::TotalBudgetTruncated
                    };
                    (code, format!("the section has {total} characters, of which {limit} may stay"))
                };
                diagnostics.push(PromptDiagnostic::new(code, message).in_section(draft.id));
                kept = characters(&content);
                draft.content = content;
                draft.truncated = true;
                truncation = PromptTruncation::Prompt;
            }
            left -= kept.min(left);
            hook_sources.extend(request.contributed.map(|it| hook_source(it, truncation)));
            // The wrapper is added after cutting, so that a cut text never loses its closing tag.
            if let Some(wrapper) = draft.kind.and_then(|kind| wrapper(kind, request))
                && !draft.content.trim().is_empty()
            {
                draft.content = Cow::Owned([wrapper.before, &draft.content, wrapper.after].concat());
            }
        }
        hook_sources.sort_by_key(|source| drafts.iter().position(|draft| draft.id == source.section_id));
    }
}

/// Returns the lines around a section's text. Context of the caller is foreign text, which hooks introduce themselves.
fn wrapper(kind: &SectionKind, request: BudgetRequest<'_>) -> Option<Wrapper> {
    let is_callers = kind.id == DYNAMIC_CONTEXT && request.contributed.is_none();
    if is_callers { Some(Wrapper { before: texts::CALLERS_CONTEXT, after: "" }) } else { kind.wrapper() }
}

fn hook_source(contributed: &ContributedSection, truncation: PromptTruncation) -> PromptHookSource {
    let section = &contributed.section;
    PromptHookSource {
        hook_id: contributed.hook_id.clone(),
        subscription_id: contributed.subscription_id.clone(),
        contribution_id: section.id.clone(),
        section_id: section.section_id.clone(),
        contribution_kind: ContributionKind::PromptSection,
        priority: section.priority,
        source_count: section.sources.len() as u64,
        truncation,
    }
}

fn cut_to(content: Cow<'_, str>, limit: usize, rest: Rest) -> Cow<'_, str> {
    match content {
        Cow::Borrowed(text) => cut(text, limit, rest).text().unwrap_or_default(),
        Cow::Owned(text) => match cut(&text, limit, rest) {
            Cut::Whole(_) => Cow::Owned(text),
            Cut::Part(part) => Cow::Owned(part),
            Cut::Nothing => Cow::Borrowed(""),
        },
    }
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

/// Returns a foreign heading as one harmless line.
fn heading(title: &str) -> Cow<'_, str> {
    let (harmless, _) = make_harmless(title);
    let words: Vec<&str> = harmless.split_whitespace().collect();
    let line = words.join(" ");
    Cow::Owned(if line.is_empty() { "Untitled".to_owned() } else { line })
}
